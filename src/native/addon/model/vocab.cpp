#include "vocab.h"

#include "runtime/assertion.h"
#include "runtime/failure.h"

#include "limit-work.h"

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

// llama.cpp's words for a vocabulary that lacks what it needs are those of a container
template <typename work_type>
static auto with_tokenizer(const llama_vocab * vocab, work_type work) {
    require_tokenizer(vocab);

    const assertion_scope scope(assertion_scope::plain);
    try {
        return work();
    } catch (const failure &) {
        throw;
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const limit_work_aborted & err) {
        throw failure("ERR_H2O_INTERRUPTED", err.what());
    } catch (const limit_work_too_long &) {
        throw failure("ERR_H2O_INVALID_ARGUMENT",
            "the text takes this model's tokenizer too long; it has too many digits or white space in a row");
    } catch (const std::exception & err) {
        throw failure("ERR_H2O_MODEL_INVALID", std::string("the model's tokenizer failed: ") + err.what());
    }
}

// steps of matching, about a nanosecond each; prose and code take less than 15 a byte
static constexpr uint64_t n_units_text = 1'000'000'000;
static constexpr uint64_t n_units_byte = 256;

static std::vector<llama_token> tokenize_text(const llama_vocab * vocab, const std::string & text, tokenize_options options) {
    if (text.size() > (size_t) std::numeric_limits<int32_t>::max()) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "the text is longer than 2 GiB", {{"bytes", (double) text.size()}});
    }

    const bool add_special = options.add_special && can_add_special(vocab);

    // too few only where the text is normalized into a longer one; a negative result says how many there are
    std::vector<llama_token> tokens(text.size() + 16);

    const auto tokenize = [&] {
        return llama_tokenize(vocab, text.data(), (int32_t) text.size(), tokens.data(), (int32_t) tokens.size(),
            add_special, options.parse_special);
    };

    limit_work             work = { options.aborted, n_units_text + n_units_byte*text.size() };
    const limit_work_scope scope(work);

    int32_t n = tokenize();
    if (n == std::numeric_limits<int32_t>::min()) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "the text has too many tokens");
    }
    if (n < 0) {
        tokens.resize(-n);
        n = tokenize();
    }
    tokens.resize(n < 0 ? 0 : n);

    return tokens;
}

std::vector<llama_token> vocab_tokenize(const llama_vocab * vocab, const std::string & text, tokenize_options options) {
    return with_tokenizer(vocab, [&] { return tokenize_text(vocab, text, options); });
}

static std::string text_of(const llama_vocab * vocab, const std::vector<llama_token> & tokens, detokenize_options options) {
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

std::string vocab_detokenize(const llama_vocab * vocab, const std::vector<llama_token> & tokens, detokenize_options options) {
    return with_tokenizer(vocab, [&] { return text_of(vocab, tokens, options); });
}

static std::string piece_of(const llama_vocab * vocab, llama_token token, bool special) {
    std::string piece(32, '\0');

    int32_t n = llama_token_to_piece(vocab, token, piece.data(), (int32_t) piece.size(), 0, special);
    if (n < 0) {
        piece.resize(-n);
        n = llama_token_to_piece(vocab, token, piece.data(), (int32_t) piece.size(), 0, special);
    }
    piece.resize(n < 0 ? 0 : n);

    return piece;
}

std::string vocab_piece(const llama_vocab * vocab, llama_token token, bool special) {
    if (llama_vocab_type(vocab) == LLAMA_VOCAB_TYPE_NONE || !vocab_is_valid(vocab, token)) {
        return "";
    }
    return with_tokenizer(vocab, [&] { return piece_of(vocab, token, special); });
}

bool vocab_is_valid(const llama_vocab * vocab, llama_token token) {
    return token >= 0 && token < llama_vocab_n_tokens(vocab);
}

} // namespace addon
