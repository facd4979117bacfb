// What a tokenizer's regular expression makes of a text, for callers with a limit_work_scope: the same as std::regex, which
// takes half a KiB of stack for every character of a match, cannot be ended, and looks at a run of white space from
// each place in it. Others have std::regex.

#pragma once

#include "limit-work.h"

#include <cstddef>
#include <string>
#include <vector>

// Each part of the text, `offsets` are their lengths, becomes matches and what is between them: `split` gets their
// lengths. False without a scope. Throws what limit_work_poll does
template <typename CharT>
bool limit_split(const std::basic_string<CharT> & text, const std::basic_string<CharT> & regex,
    const std::vector<size_t> & offsets, std::vector<size_t> & split);
