// A graph of several chunks, as devices get it, gives what graphs of one chunk give: from position 0 on and behind it,
// whole calls and calls with a tail.

#include "h2o-cache.h"
#include "testing.h"
#include "ways.h"

#include <algorithm>
#include <string>

static std::vector<float> run(const tiny_model & model, const test_context_params & params, int n_graph_chunks) {
    test_set_env("H2O_GRAPH_CHUNKS", std::to_string(n_graph_chunks).c_str());

    test_context ctx(model, params);
    std::vector<float> res;

    const auto * cache    = dynamic_cast<const h2o_cache *>(ctx.memory());
    const int    n_chunks = (params.n_batch + params.n_chunk - 1)/params.n_chunk;
    CHECK(cache && cache->get_n_graph_chunks() == std::min(n_graph_chunks, n_chunks));

    for (const int n : { params.n_batch, params.n_batch - params.n_chunk + 5, 2*params.n_chunk }) {
        ctx.decode(tiny_prompt(n, n));
        CHECK(ctx.call().path == H2O_PATH_SPARSE);

        const std::vector<float> logits = ctx.logits();
        res.insert(res.end(), logits.begin(), logits.end());
        for (const test_trace & t : ctx.trace()) {
            res.insert(res.end(), t.mem_pos.begin(), t.mem_pos.end());
        }
    }
    return res;
}

static void test_graph_chunks(const tiny_model & model, test_context_params params) {
    params.capture = false;
    params.n_ctx   = 3*params.n_batch;

    for (const bool flash_attn : { false, true }) {
        params.flash_attn = flash_attn;

        const std::vector<float> expected = run(model, params, 1);

        CHECK(run(model, params, 2)   == expected);
        CHECK(run(model, params, 100) == expected);
    }
}

static const suite cases("graph-chunks", [](suite & s) {
    add_in_ways(s, "one, two, all", test_graph_chunks);
});
