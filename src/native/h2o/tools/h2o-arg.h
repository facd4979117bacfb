// The options of H2O that every tool of llama.cpp with a context takes.

#pragma once

#include <vector>

struct common_arg;
struct common_params;

// common_params_parser_init adds them after --ubatch-size; defaults in the help are those of `params`
std::vector<common_arg> h2o_args(const common_params & params);
