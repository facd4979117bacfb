#include "ways.h"

std::vector<test_way> test_query_ways() {
    test_context_params composed;
    composed.fused = false;

    return {
        { "query",          {},       TEST_CORE },
        { "query composed", composed, TEST_WAYS },
    };
}

std::vector<test_way> test_votes_ways() {
    std::vector<test_way> res;
    for (const h2o_schedule schedule : { H2O_SCHEDULE_SINGLE_PASS, H2O_SCHEDULE_TWO_PASS }) {
        for (const bool fused : { true, false }) {
            test_context_params params = test_votes();
            params.schedule = schedule;
            params.fused    = fused;

            const std::string name = schedule == H2O_SCHEDULE_TWO_PASS ? "votes two-pass" : "votes";
            res.push_back({ name + (fused ? "" : " composed"), params, TEST_WAYS });
        }
    }
    return res;
}

std::vector<test_way> test_ways() {
    std::vector<test_way> res = test_query_ways();
    for (const test_way & way : test_votes_ways()) {
        res.push_back(way);
    }
    return res;
}

void add_in_ways(
        suite & s, const std::string & name, const test_in_way & run, const tiny_model_params & shape,
        const std::vector<test_way> & ways) {
    for (const test_way & way : ways) {
        s.add(name + ", " + way.name, [=, params = way.params] { run(tiny_model(shape), params); }, way.label);
    }
}
