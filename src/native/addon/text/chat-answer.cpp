#include "chat-answer.h"

#include "runtime/deep-stack.h"
#include "runtime/failure.h"

#include <algorithm>
#include <random>

namespace addon {

static std::string random_id() {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

    std::random_device device;
    std::uniform_int_distribution<size_t> any(0, sizeof(letters) - 2);

    std::string id = "call_";
    for (size_t i = 0; i < 24; ++i) {
        id += letters[any(device)];
    }
    return id;
}

static common_json to_delta(const common_chat_msg_diff & diff) {
    common_json delta = common_json::object();
    if (!diff.reasoning_content_delta.empty()) {
        delta["reasoning_content"] = diff.reasoning_content_delta;
    }
    if (!diff.content_delta.empty()) {
        delta["content"] = diff.content_delta;
    }
    if (diff.tool_call_index == std::string::npos) {
        return delta;
    }

    const common_chat_tool_call & part = diff.tool_call_delta;

    common_json call = common_json::object();
    call["index"] = diff.tool_call_index;
    if (!part.id.empty()) {
        call["id"]   = part.id;
        call["type"] = "function";
    }
    common_json function = common_json::object();
    if (!part.name.empty()) {
        function["name"] = part.name;
    }
    function["arguments"] = part.arguments;
    call["function"] = function;

    delta["tool_calls"] = common_json::array({ call });
    return delta;
}

static std::string behind(const std::string & beginning, const std::string & text) {
    return text.compare(0, beginning.size(), beginning) == 0 ? text.substr(beginning.size()) : text;
}

// A bracket in the arguments of a call is some functions deeper. What is continued is read again before the answer.
static size_t stack_bytes(const std::string & continued, const std::string & text) {
    const auto n_brackets = [](const std::string & some) {
        return std::count_if(some.begin(), some.end(), [](char c) { return c == '{' || c == '['; });
    };
    return (16 << 20) + 8192 * (n_brackets(continued) + n_brackets(text));
}

chat_answer::reading chat_answer::read(const std::string & text, bool is_partial) {
    std::lock_guard<std::mutex> lock(mutex);

    reading result;

    const auto work = [&] {
        if (!is_begun && prompt->parser.is_continuation) {
            begun = message = common_chat_parse("", true, prompt->parser);
        }
        is_begun = true;

        common_chat_msg next = common_chat_parse(text, is_partial, prompt->parser);
        next.set_tool_call_ids(ids, random_id);

        common_json deltas = common_json::array();
        for (const common_chat_msg_diff & diff : common_chat_msg_diff::compute_diffs(message, next)) {
            deltas.push_back(to_delta(diff));
        }
        common_chat_msg told = next;
        told.content           = behind(begun.content, next.content);
        told.reasoning_content = behind(begun.reasoning_content, next.reasoning_content);

        result  = { told.to_json_oaicompat().dump_safe(), deltas.dump_safe() };
        message = std::move(next);
    };

    try {
        if (run_on_stack(stack_bytes(prompt->parser.generation_prompt, text), work)) {
            return result;
        }
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const std::exception & err) {
        throw failure("ERR_H2O_CHAT_ANSWER", std::string("the answer is not in the model's format: ") + err.what());
    }
    throw failure("ERR_H2O_CHAT_ANSWER", "the answer is nested too deeply");
}

} // namespace addon
