// What we compile of llama.cpp's common (cmake/common.cmake) needs these functions. Its own versions bring much more
// with them.

#include "model/vocab.h"

#include "limit-work.h"

#include <common.h>
#include <log.h>

std::string string_join(const std::vector<std::string> & values, const std::string & separator) {
    std::string joined;
    for (size_t i = 0; i < values.size(); ++i) {
        joined += (i > 0 ? separator : "") + values[i];
    }
    return joined;
}

std::vector<std::string> string_split(const std::string & str, const std::string & delimiter) {
    std::vector<std::string> parts;

    size_t begin = 0;
    for (size_t end; (end = str.find(delimiter, begin)) != std::string::npos; begin = end + delimiter.size()) {
        parts.push_back(str.substr(begin, end - begin));
    }
    parts.push_back(str.substr(begin));

    return parts;
}

std::string string_repeat(const std::string & str, size_t n) {
    std::string repeated;
    for (size_t i = 0; i < n; ++i) {
        repeated += str;
    }
    return repeated;
}

void string_replace_all(std::string & s, const std::string & search, const std::string & replace) {
    for (size_t at = 0; !search.empty() && (at = s.find(search, at)) != std::string::npos; at += replace.size()) {
        s.replace(at, search.size(), replace);
    }
}

llama_tokens common_tokenize(const llama_vocab * vocab, const std::string & text, bool add_special, bool parse_special) {
    addon::tokenize_options options;
    options.add_special   = add_special;
    options.parse_special = parse_special;

    if (const limit_work * outer = limit_work_scope::current()) {
        options.aborted = outer->is_aborted;
    }
    return addon::vocab_tokenize(vocab, text, options);
}

std::string common_token_to_piece(const llama_vocab * vocab, llama_token token, bool special) {
    return addon::vocab_piece(vocab, token, special);
}

// silences common's log: errors that matter are thrown as well
int common_log_get_verbosity_thold() {
    return LOG_LEVEL_OUTPUT - 1;
}

common_log * common_log_main() {
    return nullptr;
}

void common_log_add(common_log *, ggml_log_level, const char *, ...) {}
