// Text to tokens and back, for models and contexts alike. Any thread; llama.cpp's tokenizer is thread-safe.
//
// llama.cpp asserts where a vocabulary lacks what a request needs (no tokenizer at all, no BOS although it asks for
// one); these functions look first. What they throw is a failure or std::bad_alloc.

#pragma once

#include "llama.h"

#include <atomic>
#include <string>
#include <vector>

namespace addon {

struct tokenize_options {
    bool add_special   = true;  // BOS and EOS, where the model is configured to have them
    bool parse_special = false; // "<|im_start|>" in the text becomes its token

    const std::atomic<bool> * aborted = nullptr; // ends it early when set: ERR_H2O_INTERRUPTED
};

// throws if the model has no tokenizer or one that lacks what the text needs
std::vector<llama_token> vocab_tokenize(const llama_vocab * vocab, const std::string & text, tokenize_options options);

struct detokenize_options {
    bool remove_special  = false;
    bool unparse_special = false;
};

std::string vocab_detokenize(const llama_vocab * vocab, const std::vector<llama_token> & tokens, detokenize_options options);

// the bytes of one token: possibly a part of a UTF-8 character; of a special one only with `special`
std::string vocab_piece(const llama_vocab * vocab, llama_token token, bool special = false);

bool vocab_is_valid(const llama_vocab * vocab, llama_token token);

} // namespace addon
