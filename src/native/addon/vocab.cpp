#include "vocab.h"

#include "failure.h"

#include <limits>

namespace addon {

static void require_tokenizer(const llama_vocab * vocab) {
    if (llama_vocab_type(vocab) == LLAMA_VOCAB_TYPE_NONE) {
        throw failure("ERR_H2O_MODEL_INVALID", "the model has no tokenizer; pass token ids");
    }
}

// true if every special token that the tokenizer would add exists
static bool can_add_special(const llama_vocab * vocab) {
    const bool is_wpm = llama_vocab_type(vocab) == LLAMA_VOCAB_TYPE_WPM;

    const bool needs_bos = is_wpm || llama_vocab_get_add_bos(vocab);
    const bool needs_eos =           llama_vocab_get_add_eos(vocab);
    const bool needs_sep = is_wpm || llama_vocab_get_add_sep(vocab);

    return (!needs_bos || llama_vocab_bos(vocab) != LLAMA_TOKEN_NULL) &&
           (!needs_eos || llama_vocab_eos(vocab) != LLAMA_TOKEN_NULL) &&
           (!needs_sep || llama_vocab_sep(vocab) != LLAMA_TOKEN_NULL);
}

std::vector<llama_token> vocab_tokenize(const llama_vocab * vocab, const std::string & text, tokenize_options options) {
    require_tokenizer(vocab);

    if (text.size() > (size_t) std::numeric_limits<int32_t>::max()) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "the text is longer than 2 GiB", {{"bytes", (double) text.size()}});
    }

    const bool add_special = options.add_special && can_add_special(vocab);

    // a first guess; a negative result says how many there are
    std::vector<llama_token> tokens(text.size() / 2 + 16);

    int32_t n = llama_tokenize(vocab, text.data(), (int32_t) text.size(), tokens.data(), (int32_t) tokens.size(),
        add_special, options.parse_special);
    if (n == std::numeric_limits<int32_t>::min()) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "the text has too many tokens");
    }
    if (n < 0) {
        tokens.resize(-n);
        n = llama_tokenize(vocab, text.data(), (int32_t) text.size(), tokens.data(), (int32_t) tokens.size(),
            add_special, options.parse_special);
    }
    tokens.resize(n < 0 ? 0 : n);

    return tokens;
}

std::string vocab_detokenize(const llama_vocab * vocab, const std::vector<llama_token> & tokens, detokenize_options options) {
    require_tokenizer(vocab);

    if (tokens.empty()) {
        return "";
    }

    std::string text(tokens.size() * 4 + 16, '\0');

    int32_t n = llama_detokenize(vocab, tokens.data(), (int32_t) tokens.size(), text.data(), (int32_t) text.size(),
        options.remove_special, options.unparse_special);
    if (n < 0) {
        text.resize(-n);
        n = llama_detokenize(vocab, tokens.data(), (int32_t) tokens.size(), text.data(), (int32_t) text.size(),
            options.remove_special, options.unparse_special);
    }
    text.resize(n < 0 ? 0 : n);

    return text;
}

std::string vocab_piece(const llama_vocab * vocab, llama_token token) {
    if (llama_vocab_type(vocab) == LLAMA_VOCAB_TYPE_NONE || !vocab_is_valid(vocab, token)) {
        return "";
    }

    std::string piece(32, '\0');

    int32_t n = llama_token_to_piece(vocab, token, piece.data(), (int32_t) piece.size(), 0, false);
    if (n < 0) {
        piece.resize(-n);
        n = llama_token_to_piece(vocab, token, piece.data(), (int32_t) piece.size(), 0, false);
    }
    piece.resize(n < 0 ? 0 : n);

    return piece;
}

bool vocab_is_valid(const llama_vocab * vocab, llama_token token) {
    return token >= 0 && token < llama_vocab_n_tokens(vocab);
}

} // namespace addon
