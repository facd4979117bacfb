// Where special tokens are in a text, for callers with a limit_work_scope: the fragments that llama_vocab's
// tokenizer_st_partition makes. That walks its list from the beginning for every token it finds, and looks through the
// text for every token there is.

#pragma once

#include "limit-work.h"

#include "llama-vocab.h"

#include <bitset>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

// the pairs of neighbouring bytes of a text
class limit_byte_pairs {
public:
    explicit limit_byte_pairs(const std::string & text) {
        for (size_t i = 1; i < text.size(); ++i) {
            pairs.set(pair(text, i));
        }
    }

    bool may_hold(const std::string & part) const {
        for (size_t i = 1; i < part.size(); ++i) {
            if (!pairs[pair(part, i)]) {
                return false;
            }
        }
        return true;
    }

private:
    std::bitset<65536> pairs;

    static size_t pair(const std::string & text, size_t i) {
        return (uint8_t) text[i - 1] << 8 | (uint8_t) text[i];
    }
};

// replaces the fragment behind `before` if it holds the token; returns the last one of it
template <typename fragment_list>
typename fragment_list::iterator limit_partition_one(fragment_list & fragments, typename fragment_list::iterator before,
        llama_token id, const llama_vocab::token_data & token) {
    const auto          fragment = std::next(before);
    const std::string & text     = fragment->raw_text;
    const size_t        end      = fragment->offset + fragment->length;
    size_t              begin    = fragment->offset;

    const auto find = [&] { return std::string_view(text.data(), end).find(token.text, begin); };

    size_t match = fragment->length > 0 ? find() : std::string::npos; // a token has no length
    if (match == std::string::npos) {
        return fragment;
    }
    fragments.erase_after(before);

    for (; match != std::string::npos; match = find()) {
        limit_work_poll();

        size_t left_end = match;
        while ((token.attr & LLAMA_TOKEN_ATTR_LSTRIP) && left_end > begin && isspace((uint8_t) text[left_end - 1])) {
            left_end--;
        }
        if (left_end > begin) {
            before = fragments.emplace_after(before, text, begin, left_end - begin);
        }
        before = fragments.emplace_after(before, id);

        begin = match + token.text.size();
        while ((token.attr & LLAMA_TOKEN_ATTR_RSTRIP) && begin < end && isspace((uint8_t) text[begin])) {
            begin++;
        }
    }
    return begin < end ? fragments.emplace_after(before, text, begin, end - begin) : before;
}

// false without a scope; throws what limit_work_poll does
template <typename fragment_list>
bool limit_partition(fragment_list & fragments, const llama_vocab & vocab, const std::vector<llama_token> & special, bool parse_special) {
    if (!limit_work_scope::current()) {
        return false;
    }
    const limit_byte_pairs pairs(fragments.front().raw_text);

    for (const llama_token id : special) {
        const llama_vocab::token_data & token = vocab.get_token_data(id);

        const bool is_text = !parse_special && (token.attr & (LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_UNKNOWN));
        if (is_text || !pairs.may_hold(token.text)) {
            continue;
        }
        for (auto it = fragments.before_begin(); std::next(it) != fragments.end(); ) {
            limit_work_poll(2);
            it = limit_partition_one(fragments, it, id, token);
        }
    }
    return true;
}
