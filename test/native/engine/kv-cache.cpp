// The KV cache that carries the H2O state: layouts and sizes, what persists and what forgets it, saving and restoring,
// prompts of one chunk, repeated prompts, and decoding, which appends and leaves the state as it is.

#include "testing.h"
#include "ways.h"

#include "llama-kv-cache.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

static void test_layout(const tiny_model & model, test_context_params params, ggml_type type, bool flash_attn) {
    params.type_kv    = type;
    params.flash_attn = flash_attn;

    test_context ctx(model, params);

    const int64_t d         = model.params.d_head;
    const int64_t n_head_kv = model.params.n_head_kv;
    const int64_t n_ctx     = params.n_ctx;
    const size_t  size      = ggml_type_size(type);

    CHECK(ctx.cache().get_size() == n_ctx && ctx.cache().get_layer_ids().size() == (size_t) model.params.n_layer);
    CHECK(ctx.cache().type_k() == type && ctx.cache().type_v() == type);

    llama_kv_cache::slot_info sinfo;
    sinfo.s0 = sinfo.s1 = 0;

    ggml_context_ptr views { ggml_init({ 2*ggml_tensor_overhead(), nullptr, true }) };
    const ggml_tensor * k = ctx.cache().get_k(views.get(), 0, n_ctx, sinfo);
    const ggml_tensor * v = ctx.cache().get_v(views.get(), 0, n_ctx, sinfo);

    CHECK(ggml_is_contiguous(k->view_src) && ggml_is_contiguous(v->view_src));
    CHECK(ggml_nbytes(k->view_src) == d*n_head_kv*n_ctx*size && ggml_nbytes(v->view_src) == d*n_head_kv*n_ctx*size);

    // K: one position after the other
    CHECK(k->nb[0] == size && k->nb[1] == d*size && k->nb[2] == d*n_head_kv*size);
    // V: the same, or one channel after the other
    if (flash_attn) {
        CHECK(v->ne[0] == d && v->nb[0] == size && v->nb[1] == d*size && v->nb[2] == d*n_head_kv*size);
    } else {
        CHECK(v->ne[0] == n_ctx && v->nb[0] == size && v->nb[1] == n_ctx*d*size && v->nb[2] == n_ctx*size);
    }
}

static tiny_model_params layer_of_qwen3() { // Qwen3-0.6B
    tiny_model_params res;
    res.n_layer   = 1;
    res.n_head    = 16;
    res.n_head_kv = 8;
    res.d_head    = 128;
    return res;
}

static void test_sizes(const tiny_model & model, test_context_params params) {
    params.n_chunk = 1024;
    params.n_local = 256;
    params.n_heavy = 256;
    params.n_batch = 2048;
    params.n_ctx   = 8192;
    params.type_kv = GGML_TYPE_F16;

    const h2o_info info = h2o_get_info(test_context(model, params).get());

    CHECK(info.reason == H2O_REASON_NONE);
    CHECK(info.n_chunk == 1024 && info.n_local == 256 && info.n_heavy == 256);
    CHECK(info.size_kv == 2ull*8*128*8192*2);

    if (params.policy == H2O_POLICY_VOTES) {
        CHECK(info.size_state % (8*(2*512 + 1024)*4) == 0); // per buffer: positions and scores of the memory, scores of a chunk
        CHECK(info.size_state > 0 && info.size_state*20 <= info.size_kv);
        CHECK(info.size_index == 0);
    } else {
        CHECK(info.size_index == 2*8*128*8192/64*4); // mean keys and values
        CHECK(info.size_state == 0 && info.size_index*20 <= info.size_kv);
    }

    // what phase 1 leaves for phase 2: per token and head an output and one number, and the scores of every chunk
    const size_t size_o = ggml_type_size(GGML_TYPE_F16)*128 + sizeof(float);
    CHECK(info.size_intra == (params.schedule == H2O_SCHEDULE_TWO_PASS ? 2048*16*size_o + 2*8*1024*sizeof(float) : 0));

    const h2o_info off = h2o_get_info(test_context(model, params.off()).get());

    CHECK(off.reason == H2O_REASON_OFF && off.size_state == 0 && off.n_nodes == 0);
}

// a call goes on from what the call before left; a clear forgets it
static void test_persistence(const tiny_model & model, const test_context_params & params) {
    const int S = params.n_chunk;

    test_context ctx(model, params);

    for (int i = 0; i < 2; ++i) {
        ctx.decode(tiny_prompt(2*S));
        CHECK(ctx.call().n_inherited == 0);

        ctx.decode(tiny_prompt(3*S + 5, 2));
        CHECK(ctx.call().n_inherited == 24);

        ctx.decode(tiny_prompt(2*S, 3));
        CHECK(ctx.call().n_inherited == 24);

        ctx.clear();
        CHECK(ctx.n_pos() == 0);

        // a new prompt that begins with a short call does not meet the old one's state
        ctx.decode(tiny_prompt(5, 4));
        ctx.decode(tiny_prompt(2*S, 5));
        CHECK(ctx.call().n_inherited == params.n_inherited(5, false));
        ctx.clear();
    }
}

// what the state cannot follow makes the context forget it, and prefill is dense while cells are not in order
static void test_edits(const tiny_model & model, const test_context_params & params) {
    test_context ctx(model, params);
    const llama_memory_t memory = ctx.memory();

    const auto expect_sparse = [&](bool remembers) {
        const int n_inherited = params.n_inherited(ctx.n_pos(), remembers);

        ctx.decode(tiny_prompt(2*params.n_chunk + 3));
        CHECK(ctx.call().path == H2O_PATH_SPARSE && ctx.call().reason == H2O_REASON_NONE && ctx.call().n_inherited == n_inherited);
    };
    const auto expect_dense = [&]() {
        ctx.decode(tiny_prompt(2*params.n_chunk + 3));
        CHECK(ctx.call().path == H2O_PATH_DENSE && ctx.call().reason == H2O_REASON_KV_NOT_CONTIGUOUS && ctx.call().n_inherited == 0);
    };
    const auto start = [&]() {
        ctx.clear();
        expect_sparse(false);
    };

    // a removal of nothing: an empty range, another sequence's range, past the end
    start();
    CHECK(llama_memory_seq_rm(memory, 0, 10, 10));
    CHECK(llama_memory_seq_rm(memory, 0, ctx.n_pos(), -1));
    expect_sparse(true);

    // from the middle: a hole, that the next call fills; what was remembered does not come back with the order of the
    // cells
    start();
    CHECK(llama_memory_seq_rm(memory, 0, 10, 20));
    expect_dense();
    expect_dense();
    ctx.truncate(10);
    expect_sparse(false);

    // everything before a position, then the rest moved down: positions no longer are cells
    start();
    CHECK(llama_memory_seq_rm(memory, 0, 0, 10));
    llama_memory_seq_add(memory, 0, 10, -1, -10);
    expect_dense();
    expect_dense();

    // all of it
    start();
    CHECK(llama_memory_seq_rm(memory, 0, -1, -1));
    CHECK(ctx.n_pos() == 0);
    expect_sparse(false);
    expect_sparse(true);
}

// query finds in the cache what is there, and nothing of what was cut off
static void test_cut(const tiny_model & model, test_context_params params) {
    const int S = params.n_chunk;

    params.n_ctx = 48*S; // more pages than it searches

    test_context ctx(model, params), fresh(model, params);
    for (int i = 0; i < 4; ++i) {
        for (test_context * c : { &ctx, &fresh }) {
            c->decode(tiny_prompt(8*S, i));
        }
    }
    ctx.decode(tiny_prompt(8*S, 4));
    ctx.truncate(4*8*S);
    for (test_context * c : { &ctx, &fresh }) {
        c->decode(tiny_prompt(9*S, 5));
    }
    CHECK(ctx.call().path == H2O_PATH_SPARSE && ctx.logits() == fresh.logits());
}

// another context that restores a state goes on bit for bit
static void test_save(const tiny_model & model, const test_context_params & params, int n_tail) {
    const int S = params.n_chunk;

    test_context ctx(model, params);
    ctx.decode(tiny_prompt(4*S + n_tail));
    ctx.decode(tiny_prompt(3));

    const std::vector<uint8_t> saved = ctx.save();

    test_context other(model, params);
    other.decode(tiny_prompt(3*S, 9)); // is forgotten
    other.restore(saved);
    CHECK(other.n_pos() == ctx.n_pos());
    CHECK(other.save() == saved);

    for (const int n : { 2*S + 1, 4, 3*S }) {
        ctx  .decode(tiny_prompt(n, n));
        other.decode(tiny_prompt(n, n));
        CHECK(other.call().path == ctx.call().path && other.call().n_inherited == ctx.call().n_inherited);
        CHECK(other.logits() == ctx.logits());
    }
    CHECK(other.call().n_inherited == 24);
}

// a state from a context with another memory brings its cells;
// what was remembered starts anew, and the next call says so
static void test_other_state(const tiny_model & model, const test_context_params & params) {
    const int S = params.n_chunk;

    test_context_params other_split = params, other_size = params, other_chunk = params;
    other_split.n_local += 1;
    other_split.n_heavy -= 1;
    other_size .n_heavy -= 1;
    other_chunk.n_chunk *= 2;

    for (const test_context_params & from : { other_split, other_size, other_chunk, params.off() }) {
        test_context ctx(model, from);
        ctx.decode(tiny_prompt(5*S));

        test_context other(model, params), fresh(model, params);
        other.decode(tiny_prompt(3*S, 9)); // is forgotten
        for (test_context * c : { &other, &fresh }) {
            c->restore(ctx.save());
        }
        for (const bool remembers : { false, true }) {
            for (test_context * c : { &other, &fresh }) {
                c->decode(tiny_prompt(3*S));
                CHECK(c->call().path == H2O_PATH_SPARSE && c->call().n_inherited == params.n_inherited(5*S, remembers));
            }
            CHECK(other.logits() == fresh.logits());
        }
    }
}

// Files of states go from any context into any other. What a policy has kept stays in the file of its own; without H2O a
// file with it is refused.
static void test_state_files(const tiny_model & model, const test_context_params & params) {
    test_context_params query = params;
    query.policy   = H2O_POLICY_QUERY;
    query.schedule = H2O_SCHEDULE_SINGLE_PASS;

    const int S = params.n_chunk;

    const std::string path = (std::filesystem::temp_directory_path() / ("h2o-state-" + std::to_string(std::random_device()()))).string();
    const auto        text = tiny_prompt(4*S);

    for (const test_context_params & from : { params, query, params.off() }) {
        test_context ctx(model, from);
        ctx.decode(text);

        CHECK(llama_state_seq_save_file(ctx.get(), path.c_str(), 0, text.data(), text.size()) > 0);
        CHECK(llama_state_save_file(ctx.get(), (path + "-all").c_str(), text.data(), text.size()));

        for (const test_context_params & to : { params, query, params.off() }) {
            const bool is_all_known = from.policy != H2O_POLICY_VOTES || from.n_local == 0 || to.n_local > 0;

            for (const bool is_all : { false, true }) {
                test_context             other(model, to);
                std::vector<llama_token> tokens(text.size());
                size_t                   n = 0;

                const bool is_read = is_all ?
                    llama_state_load_file(other.get(), (path + "-all").c_str(), tokens.data(), tokens.size(), &n) :
                    llama_state_seq_load_file(other.get(), path.c_str(), 0, tokens.data(), tokens.size(), &n) > 0;

                CHECK(is_read || (is_all && !is_all_known));
                if (is_read) {
                    CHECK(n == text.size() && other.n_pos() == ctx.n_pos());
                    other.decode(tiny_prompt(3*S, 7));
                }
            }
        }
    }
    std::filesystem::remove(path);
    std::filesystem::remove(path + "-all");
}

// a state that was cut short is refused, and the context works on
static void test_cut_state(const tiny_model & model, const test_context_params & params) {
    const int S = params.n_chunk;

    test_context ctx(model, params);
    ctx.decode(tiny_prompt(4*S));

    const std::vector<uint8_t> saved  = ctx.save();
    const std::vector<float>   logits = ctx.logits();

    for (const size_t size : { saved.size() - 1, saved.size() - 1000, saved.size()/2, (size_t) 4 }) {
        CHECK(llama_state_seq_set_data(ctx.get(), saved.data(), size, 0) == 0);
    }

    ctx.clear();
    ctx.decode(tiny_prompt(4*S));
    CHECK(ctx.call().path == H2O_PATH_SPARSE && ctx.logits() == logits);
}

// with stock's products a prompt of one chunk is stock: the same logits to the last bit, and the same cache
static void test_single_chunk(const tiny_model & model, test_context_params params, bool flash_attn) {
    params.flash_attn = flash_attn;
    params.upstream_products = true;

    const int S = params.n_chunk;

    test_context ctx  (model, params);
    test_context stock(model, params.off());

    for (const int n : { 1, 2, S - 1, S }) {
        for (test_context * c : { &ctx, &stock }) {
            c->clear();
            c->decode(tiny_prompt(n));
            CHECK(c->call().path == H2O_PATH_DENSE);
        }
        CHECK(ctx.call().reason == H2O_REASON_ONE_CHUNK && stock.call().reason == H2O_REASON_OFF);
        CHECK(ctx.logits() == stock.logits());

        for (int il = 0; il < model.params.n_layer; ++il) {
            CHECK(ctx.k_cache(il, n) == stock.k_cache(il, n) && ctx.v_cache(il, n) == stock.v_cache(il, n));
        }
    }
}

// bytes that the process holds in memory, where that is easy to know; the address sanitizer holds on to what was freed
static size_t resident() {
    size_t n_total = 0, n_resident = 0;
#ifndef __SANITIZE_ADDRESS__
    std::ifstream("/proc/self/statm") >> n_total >> n_resident;
#endif
    return n_resident*4096;
}

// the same prompt again and again: the same to the last bit, and nothing grows
static void test_repeated(const tiny_model & model, test_context_params params) {
    params.capture = false;

    const int S = params.n_chunk;

    test_context ctx(model, params);

    std::vector<float>      logits;
    std::vector<test_trace> trace;
    h2o_info                info = {};
    size_t                  size = 0;

    for (int i = 0; i < 30; ++i) {
        ctx.clear();
        ctx.decode(tiny_prompt(5*S + 9));
        ctx.decode(tiny_prompt(2*S, 2));
        CHECK(ctx.call().path == H2O_PATH_SPARSE);

        const std::vector<test_trace> trace_now = ctx.trace();
        const h2o_info                info_now  = h2o_get_info(ctx.get());

        if (i > 0) {
            CHECK(ctx.logits() == logits);
            CHECK(trace_now.size() == trace.size());
            for (size_t j = 0; j < trace.size(); ++j) {
                CHECK(trace_now[j].mem_pos     == trace[j].mem_pos);
                CHECK(trace_now[j].mem_score   == trace[j].mem_score);
                CHECK(trace_now[j].chunk_score == trace[j].chunk_score);
            }
            CHECK(info_now.size_compute == info.size_compute && info_now.size_state == info.size_state);
        }
        logits = ctx.logits();
        trace  = trace_now;
        info   = info_now;

        if (i == 9) {
            size = resident();
        }
    }
    CHECK(resident() <= size + 1024*1024);
}

// decoding reads all positions, appends, and changes nothing of the state
static void test_decoding(const tiny_model & model, test_context_params params, bool flash_attn) {
    params.flash_attn = flash_attn;

    const int S         = params.n_chunk;
    const int N         = 5*S + 9;
    const int n_embd_kv = model.params.n_head_kv*model.params.d_head;

    test_context ctx(model, params);
    ctx.decode(tiny_prompt(N));

    // the state also says up to where positions were removed, so once before as well as after
    ctx.decode(tiny_prompt(1));
    ctx.truncate(N);
    const std::vector<uint8_t> saved = ctx.save();

    for (int t = 0; t < 64; ++t) {
        ctx.decode(tiny_prompt(1, t));

        CHECK(ctx.call().path == H2O_PATH_DENSE && ctx.call().is_exact && ctx.call().pos == N + t && ctx.trace().empty());

        for (int il = 0; il < model.params.n_layer; ++il) {
            for (const auto & [cache, written] : {
                    std::pair(ctx.k_cache(il, N + t + 1), ctx.k(il)), std::pair(ctx.v_cache(il, N + t + 1), ctx.v(il)) }) {
                CHECK(std::equal(cache.end() - n_embd_kv, cache.end(), written.begin()));
            }
        }
    }

    ctx.truncate(N);
    CHECK(ctx.save() == saved);

    // and the next call goes on as if there had been none
    test_context other(model, params);
    other.decode(tiny_prompt(N));
    for (test_context * c : { &ctx, &other }) {
        c->decode(tiny_prompt(3*S, 2));
        CHECK(c->call().n_inherited == 24);
    }
    CHECK(ctx.logits() == other.logits());
}

// what was reserved is enough for the first call of a prompt, whose first chunk has no memory, and for those after it;
// so many layers that a tensor which each of them leaves alive would show
static tiny_model_params many_layers() {
    tiny_model_params res;
    res.n_layer = 60;
    return res;
}

static void test_reserved(const tiny_model & model, test_context_params params) {
    params.n_chunk = 256;
    params.n_ctx   = 1024;
    params.n_batch = 1024;
    params.capture = false;
    params.flash_attn = true; // stock then reserves no logits, which would hide it

    test_context ctx(model, params);

    h2o_set_trace(ctx.get(), H2O_TRACE_OFF); // a trace is kept to the end of the graph

    const size_t reserved = h2o_get_info(ctx.get()).size_compute;

    for (const int n : { 2*256, 257 }) {
        ctx.decode(tiny_prompt(n));
        CHECK(ctx.call().path == H2O_PATH_SPARSE);
        CHECK(h2o_get_info(ctx.get()).size_compute <= reserved + reserved/20); // one output was reserved, here all are asked for
    }
}

static void test_layouts(const tiny_model & model, const test_context_params & params) {
    for (const bool flash_attn : { false, true }) {
        test_layout(model, params, GGML_TYPE_F32, flash_attn);
        test_layout(model, params, GGML_TYPE_F16, flash_attn);
    }
}

static void test_saves(const tiny_model & model, const test_context_params & params) {
    test_save(model, params, 0);

    test_context_params f16 = params;
    f16.flash_attn = true;
    f16.type_kv    = GGML_TYPE_F16;
    test_save(model, f16, 7);
}

// with both layouts of V
static test_in_way in_layouts(void (*test)(const tiny_model &, test_context_params, bool flash_attn)) {
    return [=](const tiny_model & model, const test_context_params & params) {
        test(model, params, false);
        test(model, params, true);
    };
}

static const suite cases("kv-cache", [](suite & s) {
    add_in_ways(s, "layouts",               test_layouts);
    add_in_ways(s, "sizes",                 test_sizes, layer_of_qwen3());
    add_in_ways(s, "reserved",              test_reserved, many_layers());
    add_in_ways(s, "persistence",           test_persistence);
    add_in_ways(s, "edits",                 test_edits);
    add_in_ways(s, "a cut",                 test_cut, {}, test_query_ways());
    add_in_ways(s, "save and restore",      test_saves);
    add_in_ways(s, "another's state",       test_other_state);
    add_in_ways(s, "a state cut short",     test_cut_state);
    add_in_ways(s, "files of states",       test_state_files);
    add_in_ways(s, "a single chunk",        in_layouts(test_single_chunk));
    add_in_ways(s, "decoding",              in_layouts(test_decoding));
    add_in_ways(s, "the same prompt again", test_repeated);
});
