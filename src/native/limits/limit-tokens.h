// What a tokenizer's regular expressions take: callers of llama_tokenize give it the stack (limit-work.h), or refuse the text.

#pragma once

#include "llama.h"

// words with single spaces between them are one match, and not a word each
LLAMA_API bool limit_joins_words(const llama_vocab * vocab);

// white space in a row takes time by the square of its length, and nothing ends it meanwhile
LLAMA_API bool limit_is_slow_on_space(const llama_vocab * vocab);
