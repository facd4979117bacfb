// What a model answers to a prompt of apply_chat_template(), read by llama.cpp's parser of its format: text, thoughts
// and calls of tools. Of a text that grows, also what is new.

#pragma once

#include "chat-prompt.h"

#include <memory>
#include <mutex>

namespace addon {

class chat_answer {
public:
    explicit chat_answer(std::shared_ptr<const chat_prompt> prompt) : prompt(std::move(prompt)) {}

    // of a continued message, what is new of it
    struct reading {
        std::string message; // JSON, OpenAI's message of an assistant
        std::string deltas;  // JSON, a list of OpenAI's: from the text that was read before to this one
    };

    // `text`: all of the answer until now; `is_partial`: it may go on. Throws failure, ERR_H2O_CHAT_ANSWER, where it is
    // not in the model's format. Any thread, one at a time: others wait
    reading read(const std::string & text, bool is_partial);

private:
    std::shared_ptr<const chat_prompt> prompt;
    std::mutex                         mutex;
    bool                               is_begun = false;
    common_chat_msg                    begun;   // what the prompt has of a continued message
    common_chat_msg                    message; // as it was read last
    std::vector<std::string>           ids;     // of its calls
};

} // namespace addon
