// The ways in which the engine has to work: by its policies and schedules, in the kernels of the op (fused) and as a graph of
// stock ops (composed).

#pragma once

#include "suite.h"
#include "test-context.h"

struct test_way {
    std::string         name;
    test_context_params params;
    test_label          label;
};

std::vector<test_way> test_query_ways(); // fused, composed
std::vector<test_way> test_votes_ways(); // the same in both schedules
std::vector<test_way> test_ways();       // all of these

// one of its own model
typedef std::function<void(const tiny_model &, const test_context_params &)> test_in_way;

// a case for every way
void add_in_ways(
        suite & s, const std::string & name, const test_in_way & run, const tiny_model_params & shape = {},
        const std::vector<test_way> & ways = test_ways());
