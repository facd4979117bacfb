// Sequences of one context. In streams, each has the logits that a context of its own would give, to the bit: whatever the
// others hold, read or decode in between, in calls of their own or beside a sparse one, and through any order of edits, saves
// and aborted calls. Dense tokens of several in one graph have them up to rounding. In a pool, the reader of a text is sparse, and so are those who go on from it.

#include "node-watch.h"
#include "testing.h"
#include "ways.h"

#include "llama-kv-cache.h"

#include <algorithm>
#include <memory>

static constexpr int N_SEQ = 4;

static test_context_params alone(test_context_params params) {
    params.n_seq = 1;
    return params;
}

static std::vector<test_way> ways_of(const std::string & arch) {
    std::vector<test_way> res;
    for (const test_way & way : test_ways()) {
        if (arch == "llama" || way.params.schedule == H2O_SCHEDULE_SINGLE_PASS) {
            res.push_back(way);
        }
    }
    for (const ggml_type type : { GGML_TYPE_F16, GGML_TYPE_Q8_0 }) {
        for (test_way way : { test_query_ways().front(), test_votes_ways().front() }) {
            way.name += std::string(" ") + ggml_type_name(type);
            way.params.type_kv    = type;
            way.params.flash_attn = true;
            res.push_back(way);
        }
    }
    for (test_way & way : res) {
        way.params.capture = false;
        way.params.n_seq   = N_SEQ;
    }
    return res;
}

// rows of a call
static std::vector<float> rows(const test_context & ctx, int first, int n) {
    const int  n_vocab = ctx.model.n_vocab;
    const auto logits  = ctx.logits();

    return { logits.begin() + (size_t) first*n_vocab, logits.begin() + (size_t) (first + n)*n_vocab };
}

// a prompt in two calls and some tokens, in sequence s; the others are empty, or read and decode in between
static void test_streams(const tiny_model & model, const test_context_params & params, bool is_busy) {
    const int S = params.n_chunk;

    for (const llama_seq_id s : { 0, 2, N_SEQ - 1 }) {
        test_context ctx (model, params);
        test_context own(model, alone(params));

        const auto others = [&](int n, int seed) {
            for (llama_seq_id t = 0; t < N_SEQ && is_busy; ++t) {
                if (t != s) {
                    ctx.decode(tiny_prompt(n, seed + t), t);
                }
            }
        };
        int seed = 100;
        for (const int n : { 3*S + 5, 1, 2*S, 2, S, 1 }) {
            others(seed % 3 == 0 ? 1 : 2*S + seed % 7, seed);

            const auto tokens = tiny_prompt(n, seed++);
            ctx.decode(tokens, s);
            own.decode(tokens);

            CHECK(ctx.call().path == own.call().path && ctx.call().reason == own.call().reason);
            CHECK(ctx.call().n_inherited == own.call().n_inherited && ctx.call().n_chunks == own.call().n_chunks);
            CHECK(ctx.logits() == own.logits());
        }
        CHECK(h2o_has_memory(ctx.get(), s));
    }
}

// a prompt of one sequence, and rows of others before and behind it in the batch; then prompts of two
static void test_mixed(const tiny_model & model, const test_context_params & params) {
    const int S = params.n_chunk;

    test_context ctx(model, params);

    std::vector<std::unique_ptr<test_context>> own;
    for (int s = 0; s < N_SEQ; ++s) {
        own.push_back(std::make_unique<test_context>(model, alone(params)));
        if (s != 2) {
            ctx.decode(tiny_prompt(2*S + s, s), s);
            own[s]->decode(tiny_prompt(2*S + s, s));
        }
    }
    const std::vector<std::vector<test_run>> calls = {
        { { 0, tiny_prompt(1, 10) }, { 2, tiny_prompt(3*S + 7, 11) }, { 1, tiny_prompt(1, 12) }, { 3, tiny_prompt(2, 13) } },
        { { 3, tiny_prompt(2*S + 1, 14) }, { 0, tiny_prompt(1, 15) }, { 2, tiny_prompt(2*S, 16) } },
    };
    for (const std::vector<test_run> & runs : calls) {
        CHECK(ctx.try_decode(runs) == 0);

        const bool is_sparse = params.schedule == H2O_SCHEDULE_SINGLE_PASS; // two-pass takes a batch of one sequence
        CHECK((ctx.call().path == H2O_PATH_SPARSE) == is_sparse);
        if (!is_sparse) {
            CHECK(ctx.call().reason == H2O_REASON_MULTI_SEQUENCE);
            return;
        }
        int i = 0;
        int n_sparse = 0;
        for (const test_run & run : runs) {
            const int n = run.tokens.size();

            own[run.seq_id]->decode(run.tokens);
            CHECK(rows(ctx, i, n) == own[run.seq_id]->logits());
            n_sparse += n > S ? n : 0;
            i += n;
        }
        CHECK(ctx.call().n_tokens == i && ctx.call().n_sparse == n_sparse);
    }
    // each reason has its tokens
    CHECK(h2o_get_count(ctx.get(), H2O_REASON_ONE_CHUNK).n_tokens == 1 + 1 + 2 + 1);
}

// one call is aborted at some of its nodes: no sequence of it has begun
static void test_mixed_abort(const tiny_model & model, const test_context_params & params) {
    const int S = params.n_chunk;

    std::vector<float> expected;

    for (int i = -1; i < 8; ++i) {
        test_context ctx(model, params);
        ctx.decode(tiny_prompt(2*S + 1, 1), 1);
        ctx.decode(tiny_prompt(2*S + 3, 3), 3);

        if (i >= 0) {
            test_abort_after soon = { 30 + 150*i };
            llama_set_abort_callback(ctx.get(), test_abort_after::is_over, &soon);
            const int status = ctx.try_decode({ { 1, tiny_prompt(1, 5) }, { 3, tiny_prompt(3*S, 6) } });
            llama_set_abort_callback(ctx.get(), nullptr, nullptr);

            if (status == 0) {
                break;
            }
            CHECK(status == 2 && ctx.n_pos(1) == 2*S + 1 && ctx.n_pos(3) == 2*S + 3);
        }
        CHECK(ctx.try_decode({ { 1, tiny_prompt(1, 7) }, { 3, tiny_prompt(2*S + 9, 8) } }) == 0);
        CHECK(ctx.call().path == H2O_PATH_SPARSE);

        expected = i < 0 ? ctx.logits() : expected;
        CHECK(ctx.logits() == expected);
    }
}

// a prompt that is expected is sparse in calls of one chunk, too, with the bits of a single call
static void test_expect(const tiny_model & model, const test_context_params & params) {
    const int  S      = params.n_chunk;
    const auto tokens = tiny_prompt(3*S + 5, 1);

    test_context whole(model, alone(params));
    whole.decode(tokens);

    test_context ctx(model, params);
    CHECK(!h2o_expect(ctx.get(), N_SEQ, 3*S) && !h2o_expect(ctx.get(), -1, 3*S));
    CHECK(h2o_expect(ctx.get(), 2, tokens.size()));

    for (int i = 0; i < (int) tokens.size(); i += S) {
        const std::vector<llama_token> part(tokens.begin() + i, tokens.begin() + std::min<int>(i + S, tokens.size()));
        ctx.decode(part, 2);
        CHECK(ctx.call().path == H2O_PATH_SPARSE && ctx.call().n_chunks == 1);
        CHECK(ctx.logits() == rows(whole, i, part.size()));

        ctx.decode(tiny_prompt(2*S + 1, i), 1); // of another prompt
        CHECK(llama_memory_seq_rm(ctx.memory(), 2, ctx.n_pos(2), -1)); // llama-server does before each part: nothing is there
    }
    // what follows is not expected, nor is what an edit has left of a prompt, or what would be dense in one call
    const auto is_dense = [&]() {
        ctx.decode(tiny_prompt(S, 3), 2);
        return ctx.call().reason == H2O_REASON_ONE_CHUNK;
    };
    CHECK(is_dense());
    CHECK(h2o_expect(ctx.get(), 2, 3*S));
    CHECK(llama_memory_seq_rm(ctx.memory(), 2, ctx.n_pos(2) - 1, -1) || llama_memory_seq_rm(ctx.memory(), 2, -1, -1));
    CHECK(is_dense());
    CHECK(h2o_expect(ctx.get(), 2, S));
    CHECK(is_dense());
}

static bool is_close(const std::vector<float> & a, const std::vector<float> & b, double bound) {
    double sum = 0.0, diff = 0.0;
    for (size_t i = 0; i < a.size(); ++i) {
        sum  += (double) b[i]*b[i];
        diff += (double) (a[i] - b[i])*(a[i] - b[i]);
    }
    return a.size() == b.size() && diff <= bound*sum;
}

// dense tokens of several streams share a graph, and take the exact kernel there, too
static void test_rows(const tiny_model & model, const test_context_params & params) {
    test_context ctx(model, params);

    std::vector<std::unique_ptr<test_context>> own;
    for (int s = 0; s < N_SEQ; ++s) {
        own.push_back(std::make_unique<test_context>(model, alone(params)));
        for (int i = 0; i <= s; ++i) {
            const auto text = tiny_prompt(200, 10*s + i);
            ctx.decode(text, s);
            own[s]->decode(text);
        }
    }
    // products of weights with several rows sum in another order, and a cache rounds what they give
    const double bound = params.type_kv == GGML_TYPE_F32 ? 1e-9 : 1e-6; // stock's attention: 7e-5

    const std::vector<std::vector<llama_seq_id>> calls = { { 0, 1, 2, 3 }, { 1, 2 }, { 0, 3 }, { 3, 1, 0 } };
    for (const auto & seq_ids : calls) {
        for (const int n : { 1, 3 }) {
            std::vector<test_run> runs;
            for (const llama_seq_id s : seq_ids) {
                runs.push_back({ s, tiny_prompt(n, s + n) });
            }
            CHECK(ctx.try_decode(runs) == 0 && ctx.call().is_exact);
            for (size_t i = 0; i < runs.size(); ++i) {
                own[runs[i].seq_id]->decode(runs[i].tokens);
                CHECK(is_close(rows(ctx, i*n, n), own[runs[i].seq_id]->logits(), bound));
            }
        }
    }
}

// One text, read by sequence 0 and gone on with by others. Bits are not promised: stock's attention of a dense call
// depends on cells that it does not see.
static void test_pool(const tiny_model & model, test_context_params params) {
    params.unified = true;

    const int  S    = params.n_chunk;
    const auto text = tiny_prompt(3*S + 5, 1);

    // flash attention of llama.cpp rounds sums of tiles of cells to F16
    const double bound = params.flash_attn ? 1e-3 : 1e-9;

    test_context ctx(model, params);
    ctx.decode(text);
    CHECK(ctx.call().path == H2O_PATH_SPARSE);

    const int n_cells = ctx.cache().get_cells(0).get_used();
    for (llama_seq_id s = 1; s < N_SEQ; ++s) {
        llama_memory_seq_cp(ctx.memory(), 0, s, -1, -1);
        CHECK((int) ctx.cache().get_cells(0).get_used() == n_cells); // names, no copies
    }

    test_context own(model, alone(params));
    own.decode(text);
    const std::vector<uint8_t> read = own.save();

    // questions of a chunk or less, side by side in one call
    const std::vector<test_run> runs = { { 1, tiny_prompt(3, 2) }, { 2, tiny_prompt(S, 3) }, { 3, tiny_prompt(1, 4) } };
    CHECK(ctx.try_decode(runs) == 0 && ctx.call().path == H2O_PATH_DENSE);
    int i = 0;
    for (const test_run & run : runs) {
        own.restore(read);
        own.decode(run.tokens);
        CHECK(is_close(rows(ctx, i, run.tokens.size()), own.logits(), bound));
        i += run.tokens.size();
    }

    // a long question: others hold the cells behind the text, then they are gone
    ctx.decode(tiny_prompt(2*S, 5), 0);
    CHECK(ctx.call().reason == H2O_REASON_KV_NOT_CONTIGUOUS);
    for (llama_seq_id s = 0; s < N_SEQ; ++s) {
        ctx.truncate(text.size(), s);
    }
    for (const llama_seq_id s : { 2, 0, 1 }) {
        ctx.decode(tiny_prompt(2*S + 1, 6), s);
        CHECK(ctx.call().path == H2O_PATH_SPARSE && ctx.call().n_inherited > 0);

        if (params.policy == H2O_POLICY_QUERY) { // votes that were cast for one question stay for the next
            own.restore(read);
            own.decode(tiny_prompt(2*S + 1, 6));
            CHECK(ctx.logits() == own.logits());
        }
        ctx.truncate(text.size(), s);
    }
    // the reader goes, and the text stays with the others
    CHECK(llama_memory_seq_rm(ctx.memory(), 0, -1, -1));
    ctx.decode(tiny_prompt(2*S + 1, 6), 3);
    CHECK(ctx.call().path == H2O_PATH_SPARSE);
}

// One text, read by sequence 0 and asked about by the others, by turns and again: a window has cells for all of them, and
// recurrent layers go back to the text.
static void test_asked(const tiny_model & model, test_context_params params) {
    params.unified = true;

    const int  S    = params.n_chunk;
    const auto text = tiny_prompt(std::max(5*S + 5, 400), 1); // a window cache is full of it

    test_context ctx(model, params);
    ctx.decode(text);

    std::vector<std::vector<float>> first;

    for (int round = 0; round < 3; ++round) {
        for (llama_seq_id s = 1; s < N_SEQ; ++s) {
            llama_memory_seq_cp(ctx.memory(), 0, s, 0, text.size());
            CHECK(ctx.n_pos(s) == (int) text.size());
        }
        for (int i = 0; i < 6; ++i) { // more than a window, in turns
            for (llama_seq_id s = 1; s < N_SEQ; ++s) {
                CHECK(ctx.try_decode({ { s, tiny_prompt(i == 5 ? 1 : S/2, 10*s + i) } }) == 0);
                CHECK(ctx.call().reason == H2O_REASON_ONE_CHUNK);
            }
        }
        first.push_back(ctx.logits());
        for (llama_seq_id s = 1; s < N_SEQ; ++s) {
            CHECK(llama_memory_seq_rm(ctx.memory(), s, -1, -1));
        }
        CHECK(ctx.n_pos(0) == (int) text.size());
    }
    CHECK(is_close(first[1], first[0], 1e-3) && is_close(first[2], first[0], 1e-3));
}

namespace {

// random operations on four sequences, and on four contexts
struct fuzz {
    const tiny_model          & model;
    const test_context_params & params;

    fuzz(const tiny_model & model, const test_context_params & params) : model(model), params(params), ctx(model, params) {}

    test_random random;

    test_context ctx;
    std::vector<std::unique_ptr<test_context>> own;

    std::vector<std::vector<uint8_t>> saved     = std::vector<std::vector<uint8_t>>(N_SEQ);
    std::vector<std::vector<uint8_t>> saved_own = std::vector<std::vector<uint8_t>>(N_SEQ);

    int n_sparse = 0;

    bool can_cut() const { return model.params.arch == "llama"; } // others cannot go back

    // the cells of a window lie otherwise behind a state than behind a copy, and sums follow the order of cells
    bool can_copy() const { return model.params.arch != "gemma3"; }

    std::vector<llama_token> prompt(llama_seq_id s) {
        const int S = params.n_chunk;
        const int n = random.integer(0, 2) == 0 ? random.integer(1, 3) : random.integer(1, 3*S);

        return tiny_prompt(std::min(n, params.n_ctx - ctx.n_pos(s)), random.integer(0, 1 << 20));
    }

    void run(int n_operations) {
        for (int s = 0; s < N_SEQ; ++s) {
            own.push_back(std::make_unique<test_context>(model, alone(params)));
        }
        for (int i = 0; i < n_operations; ++i) {
            const llama_seq_id s = random.integer(0, N_SEQ - 1);
            const llama_seq_id t = random.integer(0, N_SEQ - 1);

            operate(random.integer(0, 11), s, t);

            for (int j = 0; j < N_SEQ; ++j) {
                CHECK(ctx.n_pos(j) == own[j]->n_pos());
            }
        }
        CHECK(n_sparse > n_operations/10);
    }

    void operate(int kind, llama_seq_id s, llama_seq_id t) {
        const int n_pos = ctx.n_pos(s);

        if (kind == 0) {
            CHECK(llama_memory_seq_rm(ctx.memory(), s, -1, -1));
            CHECK(llama_memory_seq_rm(own[s]->memory(), 0, -1, -1));
        } else if (kind == 1 && can_cut() && n_pos > 1) {
            const int pos = random.integer(1, n_pos - 1);
            ctx.truncate(pos, s);
            own[s]->truncate(pos);
        } else if (kind == 2 && n_pos > 0) { // llama.cpp leaves a sequence as it is that gets the state of an empty one
            saved[s]     = ctx.save(s);
            saved_own[s] = own[s]->save();
        } else if (kind == 3 && !saved[s].empty()) {
            ctx.restore(saved[s], t);
            own[t]->restore(saved_own[s]);
        } else if (kind == 4 && s != t && n_pos > 0 && can_copy()) {
            llama_memory_seq_cp(ctx.memory(), s, t, -1, -1);
            own[t]->restore(own[s]->save());

            // llama.cpp copies K and V as the next call begins, and whatever a state puts in their place before that
            if (n_pos < params.n_ctx) {
                single(tiny_prompt(1, random.integer(0, 1 << 20)), t);
            }
        } else if (kind == 5) {
            test_abort_after soon = { random.integer(0, 200) };
            const auto tokens = prompt(s);
            if (!tokens.empty()) {
                abort_or_not(tokens, s, soon);
            }
        } else if (kind == 6 && s != t) {
            const std::vector<test_run> runs = { { s, prompt(s) }, { t, prompt(t) } };
            const size_t n = runs[0].tokens.size() + runs[1].tokens.size();
            if (!runs[0].tokens.empty() && !runs[1].tokens.empty() && (int) n <= params.n_batch) {
                mixed(runs);
            }
        } else {
            const auto tokens = prompt(s);
            if (!tokens.empty()) {
                single(tokens, s);
            }
        }
    }

    void single(const std::vector<llama_token> & tokens, llama_seq_id s) {
        ctx.decode(tokens, s);
        own[s]->decode(tokens);
        CHECK(ctx.call().path == own[s]->call().path && ctx.call().reason == own[s]->call().reason);
        CHECK(ctx.logits() == own[s]->logits());
        n_sparse += ctx.call().path == H2O_PATH_SPARSE;
    }

    void mixed(const std::vector<test_run> & runs) {
        CHECK(ctx.try_decode(runs) == 0);
        // without a sparse sequence they share a graph, whose sums are others: then each is read again alone
        if (ctx.call().path == H2O_PATH_DENSE) {
            for (const test_run & run : runs) {
                llama_memory_seq_rm(ctx.memory(), run.seq_id, -1, -1);
                llama_memory_seq_rm(own[run.seq_id]->memory(), 0, -1, -1);
                single(run.tokens, run.seq_id);
            }
            return;
        }
        int i = 0;
        for (const test_run & run : runs) {
            own[run.seq_id]->decode(run.tokens);
            CHECK(rows(ctx, i, run.tokens.size()) == own[run.seq_id]->logits());
            i += run.tokens.size();
        }
        n_sparse += 1;
    }

    void abort_or_not(const std::vector<llama_token> & tokens, llama_seq_id s, test_abort_after soon) {
        const int n_pos = ctx.n_pos(s);

        llama_set_abort_callback(ctx.get(), test_abort_after::is_over, &soon);
        const int status = ctx.try_decode({ { s, tokens } });
        llama_set_abort_callback(ctx.get(), nullptr, nullptr);

        if (status == 0) {
            own[s]->decode(tokens);
            return;
        }
        CHECK(status == 2);
        if (ctx.n_pos(s) != n_pos) { // a memory that cannot go back has lost it, or keeps the graphs that were done
            CHECK(!can_cut());
            CHECK(llama_memory_seq_rm(ctx.memory(), s, -1, -1));
            CHECK(llama_memory_seq_rm(own[s]->memory(), 0, -1, -1));
        }
    }
};

} // namespace

// Tokens of two sequences by turns in one call, which no caller of ours sends: dense, with the logits of each alone.
static void test_by_turns(const tiny_model & model, test_context_params params, bool unified, int n_of_other) {
    params.unified = unified;
    test_context ctx(model, params);
    test_context a(model, alone(params).off());
    test_context b(model, alone(params).off());

    const std::vector<llama_token> text  = tiny_prompt(2*params.n_chunk, 1);
    const std::vector<llama_token> other = tiny_prompt(n_of_other, 2);

    llama_batch      batch = llama_batch_init(text.size() + other.size(), 0, 1);
    std::vector<int> of_a, of_b;

    const auto add = [&](llama_token token, llama_pos pos, llama_seq_id s, std::vector<int> & of) {
        const int j = batch.n_tokens++;
        of.push_back(j);

        batch.token[j] = token;
        batch.pos[j] = pos;
        batch.n_seq_id[j] = 1;
        batch.seq_id[j][0] = s;
        batch.logits[j] = true;
    };
    for (size_t i = 0; i < text.size(); ++i) {
        add(text[i], i, 0, of_a);
        if (i < other.size()) {
            add(other[i], i, 1, of_b);
        }
    }
    CHECK(llama_decode(ctx.get(), batch) == 0);
    CHECK(ctx.call().path == H2O_PATH_DENSE && ctx.call().reason == H2O_REASON_MULTI_SEQUENCE);
    llama_batch_free(batch);

    a.decode(text);
    b.decode(other);
    const double bound = params.type_kv == GGML_TYPE_F32 ? 1e-9 : 1e-3;
    for (size_t i = 0; i < text.size(); ++i) {
        CHECK(is_close(rows(ctx, of_a[i], 1), rows(a, i, 1), bound));
    }
    for (size_t i = 0; i < other.size(); ++i) {
        CHECK(is_close(rows(ctx, of_b[i], 1), rows(b, i, 1), bound));
    }
    if (!unified) { // behind it the stream's own prompts are sparse
        ctx.decode(tiny_prompt(2*params.n_chunk + 1, 3), 0);
        CHECK(ctx.call().path == H2O_PATH_SPARSE);
    }
}

// upstream removes the others' cells from the stream of the one that is kept, and so goes what is remembered of them
static void test_keep(const tiny_model & model, const test_context_params & params) {
    test_context ctx(model, params);
    for (const llama_seq_id s : { 0, 1 }) {
        ctx.decode(tiny_prompt(3*params.n_chunk, s), s);
    }
    llama_memory_seq_keep(ctx.memory(), 0);
    for (const llama_seq_id s : { 0, 1 }) {
        CHECK(ctx.n_pos(s) == 3*params.n_chunk && h2o_has_memory(ctx.get(), s));
    }
}

static void test_all(const tiny_model & model, const test_context_params & params) {
    const bool is_llama       = model.params.arch == "llama";
    const bool is_single_pass = params.schedule == H2O_SCHEDULE_SINGLE_PASS;

    test_streams(model, params, false);
    test_streams(model, params, true);
    test_mixed  (model, params);
    test_rows   (model, params);

    if (is_single_pass) {
        test_expect(model, params);
    }
    if (is_llama) {
        test_keep(model, params);
        for (const int n : { 1, params.n_chunk, 2*params.n_chunk }) {
            test_by_turns(model, params, false, n);
            test_by_turns(model, params, true,  n);
        }
        test_pool(model, params);
    }
    test_asked(model, params);
    if (is_llama && is_single_pass) {
        test_mixed_abort(model, params);
    }
}

static void test_fuzz(const tiny_model & model, const test_context_params & params) {
    fuzz(model, params).run(getenv("H2O_SEQUENCES_FUZZ") ? atoi(getenv("H2O_SEQUENCES_FUZZ")) : 100);
}

static const suite cases("sequences", [](suite & s) {
    for (const std::string arch : { "llama", "gemma3", "lfm2" }) {
        tiny_model_params shape;
        shape.arch    = arch;
        shape.n_layer = arch == "llama" ? 2 : 4;
        shape.d_head  = 32; // a block of Q8_0
        shape.n_embd  = shape.n_head*shape.d_head;

        add_in_ways(s, "streams and pools, " + arch, test_all,  shape, ways_of(arch));
        add_in_ways(s, "random operations, " + arch, test_fuzz, shape, ways_of(arch));
    }
});
