// H2O in the tools of llama.cpp: what their user asked for, and what they say about it. Part of llama-common; the options
// are in h2o-arg.h, llama-bench's lists in h2o-bench.h.

#pragma once

#include <cstdint>
#include <string>

struct llama_context;
struct llama_context_params;

// on unless turned off, as in everything that we ship; llama_context_params has it off
struct h2o_params {
    uint32_t n_local  = 256; // L, positions per KV head
    uint32_t n_heavy  = 256; // H, positions per KV head
    int32_t  schedule = 0;   // enum h2o_schedule: single-pass
};

// both throw std::invalid_argument with a message for the user
uint32_t h2o_parse_budget  (const std::string & value); // a whole number >= 0
int32_t  h2o_parse_schedule(const std::string & value); // "single-pass" or "two-pass"

std::string h2o_schedule_text(int32_t schedule);

// common_context_params_to_llama: the user's choice goes into the parameters of a context
void h2o_set_context_params(llama_context_params & cparams, const h2o_params & params);

// common_init_result, after the context was made: one log line, if H2O was asked for, that says what it will do and how
// to turn it off, or why it will do nothing
void h2o_log_start(const llama_context * ctx, const llama_context_params & cparams);

// ~common_init_result: one log line with the calls by path and reason, if one was sparse or refused
void h2o_log_end(const llama_context * ctx);

// the text of that line, empty if there is nothing to tell
std::string h2o_calls_text(const llama_context * ctx);
