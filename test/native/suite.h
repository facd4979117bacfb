// The table of the C++ tests: a source has one suite of named cases, and the program runs a suite by its name (runner.cpp).

#pragma once

#include <functional>
#include <string>
#include <vector>

// the part of the tests that a case belongs to
enum test_label {
    TEST_CORE,
    TEST_WAYS, // other ways to the same: the policy votes, the two-pass schedule, the composed graph
};

struct suite_case {
    std::string           name;
    std::function<void()> run;
    test_label            label;
};

class suite {
public:
    // fill adds the cases; names of suites and cases are plain words
    suite(const char * name, void (*fill)(suite &));

    void add(const std::string & name, std::function<void()> run, test_label label = TEST_CORE);

    const std::string       name;
    std::vector<suite_case> cases;
};

// the i-th argument behind the name of the suite
int test_argument(int i, int otherwise);
