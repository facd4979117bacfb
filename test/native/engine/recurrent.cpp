// A model with recurrent layers (LFM2), whose state cannot go back: a call that was aborted at any node, sparse or
// dense, never began, through llama_decode alone. One of a single token leaves nothing. And upstream's own way back,
// some tokens, lives beside it.

#include "node-watch.h"
#include "testing.h"
#include "ways.h"

static test_context_params with_rs_seq(test_context_params params, int n_rs_seq) {
    params.n_rs_seq = n_rs_seq;
    return params;
}

// the call of `second` is aborted at 12 of its nodes
static void test_abort(const tiny_model & model, const test_context_params & params, int n_second, h2o_path path) {
    const auto first  = tiny_prompt(4*params.n_chunk + 5, 1);
    const auto second = tiny_prompt(n_second,             2);
    const auto third  = tiny_prompt(2*params.n_chunk + 9, 3);

    node_watch watch;

    test_context whole(model, params);
    whole.decode(first);
    CHECK(whole.call().path == H2O_PATH_SPARSE);
    CHECK(try_decode(whole, second, watch) == 0);
    CHECK(whole.call().path == path);
    whole.decode(third);

    const auto expected = whole.logits();
    const auto state    = whole.save();

    for (int64_t i = 0; i < 12; ++i) {
        node_watch aborting;
        aborting.abort_at = watch.n_nodes*i/12;

        test_context ctx(model, params);
        ctx.decode(first);
        CHECK(try_decode(ctx, second, aborting) == 2);
        CHECK(ctx.n_pos() == (int) first.size());

        ctx.decode(second);
        ctx.decode(third);
        CHECK(ctx.logits() == expected);
        CHECK(ctx.save().size() == state.size());
    }
}

// the first call of a context, and a call of one token: there is nothing to go back to
static void test_nothing_left(const tiny_model & model, const test_context_params & params) {
    const auto tokens = tiny_prompt(4*params.n_chunk + 5, 1);

    test_context fresh(model, params);
    fresh.decode(tokens);
    const auto expected = fresh.logits();

    for (const bool is_first : { true, false }) {
        test_context ctx(model, params);
        if (!is_first) {
            ctx.decode(tokens);
        }
        node_watch aborting;
        aborting.abort_at = 20;

        CHECK(try_decode(ctx, is_first ? tokens : std::vector<llama_token>{ 1 }, aborting) == 2);
        CHECK(ctx.n_pos() == 0);

        ctx.decode(tokens);
        CHECK(ctx.logits() == expected);
    }
}

// a context has room for one sequence, whatever llama_batch says
static void test_one_sequence(const tiny_model & model, const test_context_params & params) {
    test_context ctx(model, params);

    llama_batch batch = llama_batch_init(1, 0, 1);
    batch.n_tokens     = 1;
    batch.token    [0] = 1;
    batch.pos      [0] = 0;
    batch.n_seq_id [0] = 1;
    batch.seq_id[0][0] = 1;
    CHECK(llama_decode(ctx.get(), batch) != 0);
    llama_batch_free(batch);
}

// llama-server goes back by a checkpoint: the state of the recurrent layers alone, and the cache is cut
static void test_checkpoint(const tiny_model & model, const test_context_params & params) {
    const auto first  = tiny_prompt(2*params.n_chunk + 5, 1);
    const auto second = tiny_prompt(2*params.n_chunk,     2);

    test_context ctx(model, params);
    ctx.decode(first);
    CHECK(ctx.call().path == H2O_PATH_SPARSE);

    const auto flags = LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY;
    std::vector<uint8_t> checkpoint(llama_state_seq_get_size_ext(ctx.get(), 0, flags));
    CHECK(llama_state_seq_get_data_ext(ctx.get(), checkpoint.data(), checkpoint.size(), 0, flags) == checkpoint.size());
    CHECK(checkpoint.size() < ctx.save().size()/4);

    ctx.decode(second);
    const auto expected = ctx.logits();

    CHECK(llama_state_seq_set_data_ext(ctx.get(), checkpoint.data(), checkpoint.size(), 0, flags) == checkpoint.size());
    CHECK(llama_memory_seq_rm(ctx.memory(), 0, first.size(), -1));
    CHECK(ctx.n_pos() == (int) first.size());

    ctx.decode(second);
    CHECK(ctx.call().path == H2O_PATH_SPARSE && ctx.call().n_inherited > 0);
    CHECK(ctx.logits() == expected);
}

// the last tokens of a sparse call can be taken back, and a call that follows and fails gives the way back again
static void test_rollback(const tiny_model & model, const test_context_params & like) {
    const auto params = with_rs_seq(like, 4);
    const auto first  = tiny_prompt(4*params.n_chunk, 1);
    const auto second = tiny_prompt(2*params.n_chunk, 2);
    const int  n_kept = first.size() - 3;

    std::vector<float> expected;

    for (const bool is_aborted : { false, true }) {
        test_context ctx(model, params);
        ctx.decode(first);
        CHECK(ctx.call().path == H2O_PATH_SPARSE);

        CHECK(llama_memory_seq_rm(ctx.memory(), 0, n_kept, -1));
        CHECK(!llama_memory_seq_rm(ctx.memory(), 0, n_kept - 1, -1)); // once
        CHECK(ctx.n_pos() == n_kept);

        if (is_aborted) {
            node_watch aborting;
            aborting.abort_at = 40;
            CHECK(try_decode(ctx, second, aborting) == 2);
            CHECK(ctx.n_pos() == n_kept);
        }
        ctx.decode(second);

        if (is_aborted) {
            CHECK(ctx.logits() == expected);
        }
        expected = ctx.logits();
    }
}

static void test_aborts(const tiny_model & model, const test_context_params & params) {
    const int S = params.n_chunk;

    test_abort(model, params, 3*S, H2O_PATH_SPARSE);
    test_abort(model, params, S,   H2O_PATH_DENSE);

    // a last chunk that upstream's snapshots do not fit into makes the call dense, in several graphs
    test_abort(model, with_rs_seq(params, 4), 3*S + 4, H2O_PATH_DENSE);
    test_abort(model, with_rs_seq(params, 4), 3*S + 5, H2O_PATH_SPARSE);
}

static const suite cases("recurrent", [](suite & s) {
    tiny_model_params shape;
    shape.arch    = "lfm2";
    shape.n_layer = 4;

    std::vector<test_way> ways = { test_query_ways().front(), test_votes_ways().front() };
    for (test_way & way : ways) {
        way.params.capture = false;
    }
    add_in_ways(s, "aborted calls", test_aborts,       shape, ways);
    add_in_ways(s, "nothing left",  test_nothing_left, shape, ways);
    add_in_ways(s, "one sequence",  test_one_sequence, shape, ways);
    add_in_ways(s, "rollback",      test_rollback,     shape, ways);

    ways.pop_back(); // votes keep what later calls have cast
    add_in_ways(s, "checkpoint",    test_checkpoint,   shape, ways);
});
