// How llama-server cuts the prompts of its slots: the loop that fills its batches, with our class in it. Each prompt is sparse
// in whole chunks of its own, whatever else is in the batches, and has a dense tail.

#include "h2o-batch-parts.h"
#include "testing.h"
#include "ways.h"

#include <algorithm>

static constexpr int S      = 32;
static constexpr int N_TAIL = 10;

static constexpr llama_seq_id SEQ_ROWS = 3; // it decodes

typedef std::vector<int> sizes;

namespace {

struct slot {
    llama_seq_id             seq_id;
    std::vector<llama_token> prompt;

    int                n_read = 0;
    sizes              parts  = {}; // tokens in each batch that has any
    std::vector<float> logits = {}; // of the last token

    bool is_done() const { return n_read == (int) prompt.size(); }
};

} // namespace

static h2o_params with_tail(int n_tail) {
    h2o_params res = h2o_default_params();
    res.n_dense_tail = n_tail;
    return res;
}

// n_rows: tokens that a batch has before it takes prompts. One of them is real
static void read(test_context & ctx, const h2o_params & params, int n_batch, int n_rows, std::vector<slot> & slots) {
    while (std::any_of(slots.begin(), slots.end(), [](const slot & s) { return !s.is_done(); })) {
        h2o_batch_parts parts(ctx.get(), params, n_batch, n_rows);

        std::vector<test_run> runs;
        if (n_rows > 0) {
            runs.push_back({ SEQ_ROWS, tiny_prompt(1, 7) });
        }
        int n_tokens = n_rows;

        for (slot & s : slots) {
            test_run run = { s.seq_id, {} };

            llama_memory_seq_rm(ctx.memory(), s.seq_id, s.n_read, -1); // nothing is there
            while (!s.is_done() && n_tokens < n_batch && !parts.end(s.seq_id, s.n_read, s.prompt.size() - s.n_read)) {
                run.tokens.push_back(s.prompt[s.n_read++]);
                ++n_tokens;
            }
            if (!run.tokens.empty()) {
                s.parts.push_back(run.tokens.size());
                runs.push_back(run);
            }
        }
        CHECK(n_tokens > n_rows); // some prompt went on
        CHECK(ctx.try_decode(runs) == 0);

        const std::vector<float> logits = ctx.logits();
        auto end = logits.begin();
        for (const test_run & run : runs) {
            end += run.tokens.size()*ctx.model.n_vocab;
            for (slot & s : slots) {
                if (s.seq_id == run.seq_id) {
                    s.logits.assign(end - ctx.model.n_vocab, end);
                }
            }
        }
    }
}

static int n_sparse(const test_context & ctx) {
    return h2o_get_count(ctx.get(), H2O_REASON_NONE).n_tokens;
}

static void test_cut(test_context & ctx, int n_tail, int n_batch, int n_rows, int n_prompt, const sizes & expected, int n_expected) {
    const int n_before = n_sparse(ctx);

    std::vector<slot> slots = { { 1, tiny_prompt(n_prompt, 1) } };
    ctx.clear();
    read(ctx, with_tail(n_tail), n_batch, n_rows, slots);

    CHECK(slots[0].parts == expected);
    CHECK(n_sparse(ctx) - n_before == n_expected);
}

static void test_cuts(const tiny_model & model, const test_context_params & params) {
    test_context ctx(model, params);

    const int n = 7*S + 5;

    test_cut(ctx, N_TAIL, 4*S, 0, n   + N_TAIL, { 4*S, 3*S + 5, N_TAIL },    n);
    test_cut(ctx, N_TAIL, 4*S, 3, n   + N_TAIL, { 3*S, 3*S, S + 5, N_TAIL }, n);
    test_cut(ctx, N_TAIL, 4*S, 3, 3*S + N_TAIL, { 3*S, N_TAIL },             3*S);
    test_cut(ctx, 0,      4*S, 3, n,            { 3*S, 3*S, S + 5 },         n);

    // rows leave less than a chunk
    test_cut(ctx, N_TAIL, 2*S, S + 5, 3*S + N_TAIL, { S - 5, S - 5, S - 5, 15, N_TAIL }, 3*S);

    // tails of more than a chunk, and of all
    test_cut(ctx, 2*S + 3, 4*S, 0, 4*S, { 2*S - 3, S, S, 3 }, 2*S - 3);
    test_cut(ctx, 100*S,   4*S, 0, 3*S, { S, S, S },          0);

    // what is one chunk, with the tail or without
    test_cut(ctx, N_TAIL, 4*S, 0, S,     { S },                        0);
    test_cut(ctx, N_TAIL, 4*S, 0, S + 1, { S + 1 - N_TAIL, N_TAIL },   0);

    // a prompt that ended early announces nothing for the next one
    ctx.clear();
    CHECK(h2o_expect(ctx.get(), 1, 8*S));
    ctx.decode(tiny_prompt(S, 1), 1);
    const int         n_before = n_sparse(ctx);
    h2o_batch_parts   parts(ctx.get(), with_tail(0), 4*S, 0);
    CHECK(!parts.end(1, 0, S));
    ctx.decode(tiny_prompt(S, 2), 1);
    CHECK(n_sparse(ctx) == n_before);
}

static std::vector<float> alone(const tiny_model & model, const test_context_params & params, std::vector<llama_token> prompt) {
    test_context      ctx(model, params);
    std::vector<slot> slots = { { 0, std::move(prompt) } };

    read(ctx, with_tail(N_TAIL), 4*S, 0, slots);
    return slots[0].logits;
}

static void test_slots(const tiny_model & model, const test_context_params & params) {
    test_context ctx(model, params);

    std::vector<slot> slots = { { 0, tiny_prompt(5*S + N_TAIL, 1) }, { 2, tiny_prompt(3*S + 7 + N_TAIL, 2) } };
    read(ctx, with_tail(N_TAIL), 4*S, 1, slots);

    CHECK(slots[0].parts == sizes({ 3*S, 2*S, N_TAIL }));
    CHECK(slots[1].parts == sizes({ S, 2*S + 7, N_TAIL }));
    CHECK(n_sparse(ctx) == 8*S + 7);

    for (const slot & s : slots) {
        // a tail beside a row has stock's attention
        CHECK(nmse(alone(model, params, s.prompt), s.logits) < 1e-8);
        CHECK(nmse(alone(model, params.off(), s.prompt), s.logits) > 1e-6);
    }
}

static void test_off(const tiny_model & model, const test_context_params & params) {
    test_context    ctx(model, params.off());
    h2o_batch_parts parts(ctx.get(), with_tail(N_TAIL), 4*S, 0);

    for (int i = 0; i < 4*S; ++i) {
        CHECK(!parts.end(0, i, 8*S - i));
    }
}

static const suite cases("batch-parts", [](suite & s) {
    std::vector<test_way> ways = { test_query_ways().front(), test_votes_ways().front() };
    for (test_way & way : ways) {
        way.params = way.params.small();
        way.params.n_chunk = S;
        way.params.n_batch = 8*S;
        way.params.n_seq   = SEQ_ROWS + 1;
        way.params.capture = false;
    }
    for (const std::string arch : { "llama", "gemma3", "lfm2" }) {
        tiny_model_params shape;
        shape.arch    = arch;
        shape.n_layer = arch == "llama" ? 2 : 4;

        add_in_ways(s, "cuts, "  + arch, test_cuts,  shape, ways);
        add_in_ways(s, "slots, " + arch, test_slots, shape, ways);
        add_in_ways(s, "off, "   + arch, test_off,   shape, ways);
    }
});
