// The program of the C++ tests. It runs the cases of one suite in their order; a CHECK that fails ends it.
//
//     h2o-tests [--label core|ways] SUITE [ARGUMENT...]
//     h2o-tests --list        every case with its label
//     h2o-tests --suites      every suite with its labels, a line for each

#include "suite.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

static const char * const LABELS[] = { "core", "ways" };

static std::vector<std::string> arguments;

// by name; other sources fill it before main
static std::map<std::string, const suite *> & suites() {
    static std::map<std::string, const suite *> all;
    return all;
}

suite::suite(const char * name, void (*fill)(suite &)) : name(name) {
    fill(*this);
    if (!suites().emplace(name, this).second) {
        fprintf(stderr, "two suites have the name %s\n", name);
        exit(2);
    }
}

void suite::add(const std::string & name, std::function<void()> run, test_label label) {
    cases.push_back({ name, std::move(run), label });
}

int test_argument(int i, int otherwise) {
    return i < (int) arguments.size() ? atoi(arguments[i].c_str()) : otherwise;
}

static void list_cases() {
    for (const auto & [name, s] : suites()) {
        for (const suite_case & c : s->cases) {
            printf("%s: %s [%s]\n", name.c_str(), c.name.c_str(), LABELS[c.label]);
        }
    }
}

static void list_suites() {
    for (const auto & [name, s] : suites()) {
        for (const test_label label : { TEST_CORE, TEST_WAYS }) {
            if (std::any_of(s->cases.begin(), s->cases.end(), [&](const suite_case & c) { return c.label == label; })) {
                printf("%s %s\n", name.c_str(), LABELS[label]);
            }
        }
    }
}

static int run(const suite & s, const std::string & label) {
    int n_passed = 0;

    for (const suite_case & c : s.cases) {
        if (!label.empty() && label != LABELS[c.label]) {
            continue;
        }
        printf("%s: %s\n", s.name.c_str(), c.name.c_str());
        fflush(stdout); // so that what ends the process stands behind its case

        const auto start = std::chrono::steady_clock::now();
        c.run();
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        printf("%s: %s  %.2f s\n", s.name.c_str(), c.name.c_str(), seconds);
        ++n_passed;
    }
    if (n_passed == 0) {
        fprintf(stderr, "%s has no case with the label %s\n", s.name.c_str(), label.c_str());
        return 2;
    }
    printf("%d passed\n", n_passed);
    return 0;
}

int main(int argc, char ** argv) {
    std::vector<std::string> args(argv + 1, argv + argc);
    std::string              label;

    if (args.size() >= 2 && args[0] == "--label") {
        label = args[1];
        args.erase(args.begin(), args.begin() + 2);
    }
    const std::string name = args.empty() ? "" : args[0];

    if (name == "--list" || name == "--suites") {
        name == "--list" ? list_cases() : list_suites();
        return 0;
    }
    const auto found = suites().find(name);
    if (found == suites().end()) {
        fprintf(stderr, "no suite has the name \"%s\"; --list shows all\n", name.c_str());
        return 2;
    }
    arguments.assign(args.begin() + 1, args.end());
    return run(*found->second, label);
}
