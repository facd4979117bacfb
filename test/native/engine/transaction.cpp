// A call counts when all of it has succeeded. Aborted at any node of any graph, through llama_decode alone, it leaves
// the context as if it had not begun: the same positions, and the next calls give the same bits. And in the two-pass
// schedule phase 2 writes no K and V: the cache holds in the middle of it what it holds at its end.

#include "node-watch.h"
#include "testing.h"
#include "ways.h"

#include "llama-kv-cache.h"

static void test_abort(const tiny_model & model, test_context_params params) {
    params.capture = false;

    const auto first  = tiny_prompt(4*params.n_chunk + 5, 1);
    const auto second = tiny_prompt(3*params.n_chunk,     2);
    const auto third  = tiny_prompt(2*params.n_chunk + 1, 3);
    const auto other  = tiny_prompt(3*params.n_chunk,     4); // what is left of it would show

    node_watch watch;

    test_context whole(model, params);
    whole.decode(first);
    llama_set_abort_callback(whole.get(), node_watch::ask, &watch);
    whole.decode(second);
    llama_set_abort_callback(whole.get(), nullptr, nullptr);
    whole.decode(third);

    const auto expected = whole.logits();

    // the dense call of several ubatches too: it is not the last ubatch alone that goes
    for (int64_t i = 0; i < 12; ++i) {
        node_watch aborting;
        aborting.abort_at = watch.n_nodes*i/12;

        test_context ctx(model, params);
        ctx.decode(first);
        CHECK(try_decode(ctx, other, aborting) == 2);
        CHECK(ctx.n_pos() == (int) first.size());
        CHECK(ctx.call().pos == 0);

        ctx.decode(second);
        ctx.decode(third);
        CHECK(ctx.logits() == expected);
    }
}

static void test_phase_2_stores_nothing(const tiny_model & model, test_context_params params) {
    params.capture = false;

    const auto tokens = tiny_prompt(4*params.n_chunk + 5, 1);
    const int  n      = tokens.size();

    node_watch count;
    {
        test_context ctx(model, params);
        llama_set_abort_callback(ctx.get(), node_watch::ask, &count);
        ctx.decode(tokens);
        llama_set_abort_callback(ctx.get(), nullptr, nullptr);
    }

    // both phases are a graph per chunk, and those of phase 1 hold few nodes more: they are behind us after 60 per cent
    struct snapshot { test_kv k, v; };
    std::vector<snapshot> snapshots;

    test_context ctx(model, params);
    node_watch watch;
    watch.on_node = [&](int64_t i) {
        for (const int percent : { 60, 75, 95 }) {
            if (i == count.n_nodes*percent/100) {
                for (int il = 0; il < model.params.n_layer; ++il) {
                    snapshots.push_back({ ctx.k_cache(il, n), ctx.v_cache(il, n) });
                }
            }
        }
    };
    llama_set_abort_callback(ctx.get(), node_watch::ask, &watch);
    ctx.decode(tokens);
    llama_set_abort_callback(ctx.get(), nullptr, nullptr);

    CHECK(snapshots.size() == (size_t) 3*model.params.n_layer);
    for (size_t i = 0; i < snapshots.size(); ++i) {
        const int il = i % model.params.n_layer;

        CHECK(snapshots[i].k == ctx.k_cache(il, n));
        CHECK(snapshots[i].v == ctx.v_cache(il, n));
    }
}

static const suite cases("transaction", [](suite & s) {
    std::vector<test_way> two_pass;
    for (const test_way & way : test_votes_ways()) {
        if (way.params.schedule == H2O_SCHEDULE_TWO_PASS) {
            two_pass.push_back(way);
        }
    }
    add_in_ways(s, "an aborted call",        test_abort);
    add_in_ways(s, "phase 2 stores nothing", test_phase_2_stores_nothing, {}, two_pass);
});
