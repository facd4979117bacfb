// A tokenizer's regular expression as a program: what std::regex matches as deep in recursion as the match is long,
// limit-split.h matches without.
//
// It is the part of ECMAScript's grammar that llama.cpp's tokenizers use: classes, groups, alternatives, greedy
// quantifiers, looking ahead, and the end of the text.

#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// characters
struct limit_regex_set {
    struct part {
        std::vector<std::pair<uint32_t, uint32_t>> ranges; // first and last
        bool                                       is_negated;

        bool has(uint32_t c) const;
    };

    std::vector<part> parts; // it is in all of them
    std::bitset<256>  low;   // the same of the first 256

    bool has(uint32_t c) const;
};

struct limit_regex_op {
    enum op_kind {
        RUN,       // as many characters of the set as there are, fewer if the rest asks for them
        SPLIT,     // the next op, or else the one at `to`
        JUMP,      // to `to`
        AHEAD,     // the next ops up to DONE match from here; goes on at `to`, with nothing consumed
        NOT_AHEAD, // they do not
        END,       // of the text
        DONE,
    };

    op_kind   kind;
    ptrdiff_t to = 0; // ops from this one

    limit_regex_set set;
    size_t          n_least = 0;
    size_t          n_most  = 0;
};

// throws std::runtime_error for an expression that it does not know
std::vector<limit_regex_op> limit_regex_compile(const std::u32string & regex);
