// H2O in the tools of llama.cpp: how they read what their user asks for, and what they say about it. Part of
// llama-common; the options are in h2o-arg.h, llama-bench's lists in h2o-bench.h.

#pragma once

#include "h2o-batch-parts.h" // llama-server reads this header alone, through common.h
#include "h2o.h"

#include <cstdint>
#include <string>

// they throw std::invalid_argument with a message for the user
uint32_t        h2o_parse_count   (const std::string & value); // a whole number >= 0
h2o_schedule    h2o_parse_schedule(const std::string & value); // "single-pass" or "two-pass"
h2o_policy_type h2o_parse_policy  (const std::string & value); // a policy's name

// "128, 256 with votes": the defaults of L, H or the dense tail
std::string h2o_defaults_text(uint32_t h2o_policy_traits::* count);

// "query, votes with two-pass"
std::string h2o_default_policy_text();

// the names of all policies, and behind each what it is about
std::string h2o_policies_text(const char * separator, bool with_about = false);

// llama-completion, while it fills a call with a prompt's tokens: whether the call, of n_call tokens, ends here, with
// n_left tokens of the prompt to come, so that the dense tail is dense. Never in a context that is not covered, and not
// where one chunk holds all of it
bool h2o_ends_call(const llama_context * ctx, const h2o_params & params, int n_call, int n_left);

// After the context was made: one log line, if H2O was asked for, that says what it will do and how to turn it off, or why it
// will do nothing; a second one where sequences share a cache
void h2o_log_start(const llama_context * ctx, const llama_context_params & cparams);

// Before the context goes: one log line with the calls by path and reason, if one was sparse or refused
void h2o_log_end(const llama_context * ctx);

// the text of that line, empty if there is nothing to tell
std::string h2o_calls_text(const llama_context * ctx);
