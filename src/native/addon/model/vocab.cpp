#include "vocab.h"

#include "runtime/assertion.h"
#include "runtime/deep-stack.h"
#include "runtime/failure.h"

#include "limit-tokens.h"
#include "limit-work.h"

#include <algorithm>
#include <cstring>
#include <iterator>
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
    } catch (const std::exception & err) {
        throw failure("ERR_H2O_MODEL_INVALID", std::string("the model's tokenizer failed: ") + err.what());
    }
}

// bytes of the white space at i, 0 of anything else; llama.cpp matches what is none in ASCII as such, too
static size_t white_space_at(const std::string & text, size_t i) {
    static const char * const wide[] = {
        "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007",
        "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000",
    };
    const char c = text[i];
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
        return 1;
    }
    if (c != '\xc2' && (c < '\xe1' || c > '\xe3')) {
        return 0;
    }
    const auto found = std::find_if(std::begin(wide), std::end(wide),
        [&](const char * one) { return text.compare(i, strlen(one), one) == 0; });
    return found == std::end(wide) ? 0 : strlen(*found);
}

// The most bytes in a row that one match may take: white space, anything else, or words with single spaces between them. White space
// beyond ASCII may be any of these.
static size_t longest_run(const std::string & text, bool joins_words) {
    size_t longest = 0;
    size_t n_space = 0;
    size_t n_other = 0;
    size_t n_words = 0;

    const auto is_letter = [](unsigned char c) { return c >= 0x80 || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };

    for (size_t i = 0; i < text.size();) {
        const size_t n_white = white_space_at(text, i);
        const size_t n       = std::max<size_t>(n_white, 1);
        const bool   is_word = is_letter(text[i]) || (text[i] == ' ' && i > 0 && text[i - 1] != ' ');

        n_space = n_white > 0 ? n_space + n : 0;
        n_other = n_white != 1 ? n_other + n : 0;
        n_words = joins_words && is_word ? n_words + n : 0;
        longest = std::max({ longest, n_space, n_other, n_words });
        i += n;
    }
    return longest;
}

// Some seconds; more is longer than any context that such a model has.
static constexpr double max_space_steps = 1e8;

// of a tokenizer that looks at each run of white space from each of its places
static double space_steps(const std::string & text) {
    double n_steps = 0;
    double n_space = 0;

    for (size_t i = 0; i < text.size();) {
        const size_t n = white_space_at(text, i);

        n_steps += n > 0 ? n_space : 0;
        n_space  = n > 0 ? n_space + 1 : 0;
        i += std::max<size_t>(n, 1);
    }
    return n_steps;
}

// Some of llama.cpp's tokenizers match their words with std::regex, which recurses for every character: half a KiB
// each, and a match may be a run of spaces and the one behind it. A stack that is not used costs nothing.
static void tokenize_deep(const llama_vocab * vocab, const std::string & text, const std::function<void()> & tokenize) {
    const size_t n_run = longest_run(text, limit_joins_words(vocab));

    if (n_run <= 256) {
        return tokenize();
    }
    if (!run_on_stack(n_run * 2048 + (16 << 20), tokenize)) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "the text has a word that is too long to be split into tokens",
            {{"bytes", (double) n_run}});
    }
}

static std::vector<llama_token> tokenize_text(const llama_vocab * vocab, const std::string & text, tokenize_options options) {
    if (text.size() > (size_t) std::numeric_limits<int32_t>::max()) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "the text is longer than 2 GiB", {{"bytes", (double) text.size()}});
    }
    if (limit_is_slow_on_space(vocab) && space_steps(text) > max_space_steps) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "the text has too much white space in a row for this model's tokenizer",
            {{"bytes", (double) text.size()}});
    }

    const bool add_special = options.add_special && can_add_special(vocab);

    // a first guess; a negative result says how many there are
    std::vector<llama_token> tokens(text.size() / 2 + 16);

    const auto tokenize = [&] {
        return llama_tokenize(vocab, text.data(), (int32_t) text.size(), tokens.data(), (int32_t) tokens.size(),
            add_special, options.parse_special);
    };

    limit_work             work = { options.aborted };
    const limit_work_scope scope(work);

    tokenize_deep(vocab, text, [&] {
        int32_t n = tokenize();
        if (n == std::numeric_limits<int32_t>::min()) {
            throw failure("ERR_H2O_INVALID_ARGUMENT", "the text has too many tokens");
        }
        if (n < 0) {
            tokens.resize(-n);
            n = tokenize();
        }
        tokens.resize(n < 0 ? 0 : n);
    });

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
