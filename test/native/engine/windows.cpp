// Models with sliding windows through llama.h alone. Aborted at any node of any graph, a call leaves its graphs that
// had ended, and going on from there gives what no abort would have given: to the bit with all positions in the cache, else
// but for the order of sums. A call behind a cut sees what it would see with all positions. And a partial state, as
// llama-server keeps it for going back, restores the windows alone: the H2O state follows the positions that are removed.

#include "node-watch.h"
#include "testing.h"
#include "ways.h"

// where windows begin in their cache decides the order of sums
static bool is_close(const std::vector<float> & a, const std::vector<float> & b) {
    return nmse(b, a) <= 1e-7;
}

// gives how many of 12 aborted calls gave the bits of one that was not; the others have another order of sums
static int test_abort(const tiny_model & model, const test_context_params & params) {
    const int S = params.n_chunk;

    // the second is longer than all that the window cache can hold
    const auto first  = tiny_prompt(3*S + 5, 1);
    const auto second = tiny_prompt(params.n_batch, 2);
    const auto third  = tiny_prompt(2*S + 1, 3);

    test_context whole(model, params);
    whole.decode(first);

    node_watch watch;
    CHECK(try_decode(whole, second, watch) == 0);
    whole.decode(third);

    const auto expected = whole.logits();

    int n_equal = 0;
    int n_kept  = 0;

    for (int64_t i = 0; i < 12; ++i) {
        node_watch aborting;
        aborting.abort_at = watch.n_nodes*i/12;

        test_context ctx(model, params);
        ctx.decode(first);
        CHECK(try_decode(ctx, second, aborting) == 2);

        const int n_done = ctx.n_pos() - first.size();
        CHECK(n_done >= 0 && n_done % S == 0);
        n_kept += n_done;

        const std::vector<llama_token> rest(second.begin() + n_done, second.end());
        CHECK((int) rest.size() > S); // or it would be dense
        ctx.decode(rest);
        ctx.decode(third);

        const auto logits = ctx.logits();
        CHECK(is_close(logits, expected));
        n_equal += logits == expected;
    }
    CHECK(n_kept > 0);
    return n_equal;
}

// cells are out of the order of the ring then: a trial run that lost positions would cost the first ubatch its window
static void test_cut(const tiny_model & model, test_context_params params) {
    params.n_chunk = 200; // with the window of 32, nearly all cells of their cache
    params.n_batch = 1024;

    const auto next = tiny_prompt(300, 2);

    test_context_params whole = params;
    whole.swa_full = true;

    for (const auto & [n_text, n_cut] : { std::pair(520, 50), std::pair(600, 120), std::pair(679, 50) }) {
        const auto text = tiny_prompt(n_text, 1);
        std::vector<std::vector<float>> logits;

        for (const test_context_params & p : { params, whole }) {
            test_context ctx(model, p);
            ctx.decode(text);
            ctx.truncate(text.size() - n_cut);
            ctx.decode(next);
            logits.push_back(ctx.logits());
        }
        CHECK(is_close(logits[0], logits[1]));
    }
}

static void test_partial_state(const tiny_model & model, const test_context_params & params) {
    const int  S    = params.n_chunk;
    const auto text = tiny_prompt(4*S, 1);
    const auto gone = tiny_prompt(params.n_batch, 2);
    const auto next = tiny_prompt(3*S + 1, 3);

    test_context ctx(model, params);
    ctx.decode(text);

    const llama_state_seq_flags flags = LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY;

    std::vector<uint8_t> checkpoint(llama_state_seq_get_size_ext(ctx.get(), 0, flags));
    CHECK(llama_state_seq_get_data_ext(ctx.get(), checkpoint.data(), checkpoint.size(), 0, flags) == checkpoint.size());

    ctx.decode(gone);
    CHECK(llama_memory_seq_pos_min(ctx.memory(), 0) > (int) text.size()); // the windows are not what they were

    CHECK(llama_state_seq_set_data_ext(ctx.get(), checkpoint.data(), checkpoint.size(), 0, flags) == checkpoint.size());
    CHECK(llama_memory_seq_rm(ctx.memory(), 0, text.size(), -1));
    CHECK(ctx.n_pos() == (int) text.size());

    ctx.decode(next);
    CHECK(ctx.call().path == H2O_PATH_SPARSE && ctx.call().pos == (int) text.size());

    if (params.policy == H2O_POLICY_VOTES) { // votes that were cast stay, so the logits are others
        for (const test_trace & t : ctx.trace()) {
            for (const int32_t pos : t.mem_pos) {
                CHECK(pos >= 0 && pos < t.pos);
            }
        }
        return;
    }
    test_context fresh(model, params);
    fresh.decode(text);
    fresh.decode(next);
    CHECK(is_close(ctx.logits(), fresh.logits()));
}

// one that cannot be read leaves nothing of the prompt before it
static void test_wrong_state(const tiny_model & model, const test_context_params & params) {
    const auto text = tiny_prompt(params.n_batch, 1);
    const auto next = tiny_prompt(params.n_batch, 2);

    test_context_params others = params;
    others.type_kv = GGML_TYPE_F16;

    test_context other(model, others);
    other.decode(text);
    const std::vector<uint8_t> saved = other.save();

    test_context ctx(model, params), fresh(model, params);
    ctx.decode(text);
    CHECK(llama_state_seq_set_data(ctx.get(), saved.data(), saved.size(), 0) == 0);
    CHECK(llama_memory_seq_rm(ctx.memory(), 0, -1, -1)); // upstream leaves the windows
    CHECK(ctx.n_pos() == 0);

    for (test_context * c : { &ctx, &fresh }) {
        c->decode(next);
    }
    CHECK(is_close(ctx.logits(), fresh.logits()));
}

static test_in_way with_rings(const test_in_way & run) {
    return [=](const tiny_model & model, test_context_params params) {
        params.swa_full = false;
        run(model, params);
    };
}

static const suite cases("windows", [](suite & s) {
    tiny_model_params shape;
    shape.arch    = "gemma3";
    shape.n_layer = 4;

    std::vector<test_way> ways;
    for (const test_way & way : test_ways()) {
        if (way.params.schedule == H2O_SCHEDULE_SINGLE_PASS) {
            ways.push_back({ way.name, way.params.small(), way.label });
            ways.back().params.capture = false;
        }
    }
    add_in_ways(s, "aborted calls, whole caches", [](const tiny_model & model, const test_context_params & params) {
        CHECK(test_abort(model, params) == 12); // cell i holds position i
    }, shape, ways);
    add_in_ways(s, "aborted calls",   with_rings(test_abort),         shape, ways);
    add_in_ways(s, "a partial state", with_rings(test_partial_state), shape, ways);
    add_in_ways(s, "a wrong state",   with_rings(test_wrong_state),   shape, ways);
    add_in_ways(s, "behind a cut",    with_rings(test_cut),           shape, ways);
    add_in_ways(s, "behind a cut, without H2O", with_rings([](const tiny_model & model, const test_context_params & params) {
        test_cut(model, params.off());
    }), shape, ways);
});
