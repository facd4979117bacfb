// Tools for a chat template that knows none: it gets messages that describe them. Without this llama.cpp leaves out
// tools, calls and, with some templates, results.

#pragma once

#include "chat.h"

#include <string>

namespace addon {

// whether messages or tools hold what the template would leave out
bool needs_generic_tools(const common_chat_templates * templates, const common_chat_templates_inputs & inputs);

// A template before `source`, in which tools are described in the system message, or in the first one of the user;
// calls are <call>{"name": ..., "arguments": ...}</call>, and results stand in messages of the user. llama.cpp finds
// parser and grammar of an answer in it, as in any other template. The marks are words: where <tool_call> is a token, a
// model that was not trained to call writes the JSON without it.
std::string with_generic_tools(const std::string & source);

} // namespace addon
