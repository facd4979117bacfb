// Random cases. Each returns whether the kernels did what plain loops do, and prints a line that begins with FAIL if
// not.

#pragma once

#include "random.h"

#include <map>
#include <string>

struct test_report {
    std::map<std::string, int>    covered; // property -> cases that had it
    std::map<std::string, double> worst;   // "limit result" -> NMSE
};

// i: which case; properties go around at different paces, so that all of them are met soon, and sizes are random.
// only_mma: of the tensor-core kernels at head size 64
bool run_attn_case(int i, bool only_mma, case_random & rnd, test_report & report);

bool run_select_case(int i, case_random & rnd, test_report & report);

// PAGES, LANDMARKS and QUERY against the CPU's kernels, which test-backend-ops holds against plain loops
bool run_query_case(int i, case_random & rnd, test_report & report);

// what supports_op answers; -> how many answers are wrong
int run_support_cases();
