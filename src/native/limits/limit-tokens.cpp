#include "limit-tokens.h"

#include "llama-vocab.h"

bool limit_joins_words(const llama_vocab * vocab) {
    return vocab->get_pre_type() == LLAMA_VOCAB_PRE_TYPE_EXAONE_MOE;
}

// looks for \s+$ from each place of it
bool limit_is_slow_on_space(const llama_vocab * vocab) {
    return vocab->get_pre_type() == LLAMA_VOCAB_PRE_TYPE_DEEPSEEK_LLM;
}
