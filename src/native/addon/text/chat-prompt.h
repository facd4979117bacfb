// Messages and tools in a model's chat template, by llama.cpp's common_chat: the prompt, what the answer has to keep
// to, and how it is read (chat-answer.h).
//
// Templates come from files and messages from clients. Whatever recurses over them has a stack to match, and all
// work on them is counted (limit-work.h, limit-jinja.h): what would never end is refused.

#pragma once

#include "grammar.h"

#include "chat.h"

#include <atomic>
#include <set>
#include <string>
#include <vector>

namespace addon {

// JSON where nothing else is said, checked by the TypeScript layer (src/ts/chat.ts)
struct chat_request {
    std::string template_text; // Jinja; empty: the model's own
    std::string messages;      // a list
    std::string tools;         // a list, or empty
    std::string tool_choice;   // "auto", "none" or "required", as plain text
    std::string variables;     // an object: what else the template knows
    std::string json_schema;   // an object, or empty
    std::string grammar;       // GBNF, or empty

    std::string reasoning_format; // llama.cpp's name, as plain text

    const std::atomic<bool> * is_aborted = nullptr; // looked at where the work grows

    int32_t parallel_tool_calls    = -1; // < 0: as the template can
    bool    add_generation_prompt  = true;
    bool    continue_final_message = false; // of the assistant, without calls: the answer goes on behind it
};

struct chat_prompt {
    std::string               text;
    std::vector<std::string>  stops;
    grammar_rules             rules; // without a text: the answer is free
    std::set<llama_token>     shown; // special tokens that are text in the answer
    common_chat_parser_params parser;
};

// throws failure: ERR_H2O_INVALID_ARGUMENT for invalid messages and tools, ERR_H2O_CHAT_TEMPLATE
chat_prompt apply_chat_template(const llama_model * model, const chat_request & request);

} // namespace addon
