// llama-bench's side of H2O: lists and ranges of the parameters, their columns, and the counts after each test.
// Included by llama-bench.cpp only.

#pragma once

#include "h2o-tools.h"

#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

// what the command line gave; an empty list is the default
struct h2o_bench_params {
    std::vector<int>             n_local;
    std::vector<int>             n_heavy;
    std::vector<h2o_schedule>    schedule;
    std::vector<h2o_policy_type> policy;

    // False if the option is none of ours. Its value is argv[i + 1]; i moves there. parse_ints: llama-bench's
    // "first-last+step" and lists. Throws std::exception on a bad value, or none.
    bool parse(const std::string & arg, int argc, char ** argv, int & i, std::vector<int> (*parse_ints)(const std::string &, bool)) {
        const bool is_names = arg == "--h2o-schedule" || arg == "--h2o-select";
        if (!is_names && arg != "--h2o-local" && arg != "--h2o-heavy") {
            return false;
        }
        if (++i >= argc) {
            throw std::invalid_argument("a value is missing");
        }
        if (!is_names) {
            std::vector<int> & list = arg == "--h2o-local" ? n_local : n_heavy;
            for (const int n : parse_ints(argv[i], false)) {
                list.push_back(n);
            }
            return true;
        }
        std::istringstream names(argv[i]);
        for (std::string name; std::getline(names, name, ','); ) {
            if (arg == "--h2o-select") {
                policy.push_back(h2o_parse_policy(name));
            } else {
                schedule.push_back(h2o_parse_schedule(name));
            }
        }
        return true;
    }

    // every combination, in the order of the lists
    std::vector<h2o_params> combinations() const {
        std::vector<h2o_params> res;
        const h2o_params defaults = h2o_default_params();
        for (const int l : n_local.empty() ? std::vector<int>{ (int) defaults.n_local } : n_local) {
            for (const int h : n_heavy.empty() ? std::vector<int>{ (int) defaults.n_heavy } : n_heavy) {
                for (const auto s : schedule.empty() ? std::vector<h2o_schedule>{ defaults.schedule } : schedule) {
                    for (const auto p : policy.empty() ? std::vector<h2o_policy_type>{ defaults.policy } : policy) {
                        res.push_back(defaults);
                        res.back().n_local  = l;
                        res.back().n_heavy  = h;
                        res.back().schedule = s;
                        res.back().policy   = p;
                    }
                }
            }
        }
        return res;
    }
};

static void h2o_bench_print_usage() {
    printf("  --h2o-local <n>                                   (default: %s)\n", h2o_defaults_text(&h2o_policy_traits::n_local).c_str());
    printf("  --h2o-heavy <n>                                   (default: %s; 0 for both: off)\n",
        h2o_defaults_text(&h2o_policy_traits::n_heavy).c_str());
    printf("  --h2o-schedule <single-pass|two-pass>             (default: %s)\n",
        h2o_schedule_name(h2o_default_params().schedule));
    printf("  --h2o-select <%s>                        (default: %s)\n", h2o_policies_text("|").c_str(),
        h2o_default_policy_text().c_str());
}

// the columns of a Markdown table: L and H always, because a rate says little without them
static void h2o_bench_add_columns(const h2o_bench_params & params, std::vector<std::string> & fields) {
    fields.emplace_back("h2o_local");
    fields.emplace_back("h2o_heavy");
    if (!params.schedule.empty()) {
        fields.emplace_back("h2o_schedule");
    }
    if (!params.policy.empty()) {
        fields.emplace_back("h2o_select");
    }
}

// how the calls of one test, warm-up included, read the cache
static void h2o_bench_print_calls(const llama_context * ctx) {
    const std::string text = h2o_calls_text(ctx);
    if (!text.empty()) {
        fprintf(stderr, "h2o: calls by path and reason: %s\n", text.c_str());
    }
}
