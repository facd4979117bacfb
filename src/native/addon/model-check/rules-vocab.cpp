// The vocabulary: what llama.cpp's tokenizers abort on, and what they never come back from.

#include "model-rules.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_set>

namespace addon {

static constexpr const char * key_model  = "tokenizer.ggml.model";
static constexpr const char * key_tokens = "tokenizer.ggml.tokens";
static constexpr const char * key_types  = "tokenizer.ggml.token_type";
static constexpr const char * key_map    = "tokenizer.ggml.precompiled_charsmap";

static constexpr int type_byte = 6; // llama_token_type

static bool is_model(const model_facts & facts, std::string_view name) {
    const gguf_value * model = facts.head.find(key_model);
    return model && model->text() == name;
}

// a model without a tokenizer gets as many dummy tokens as it asks for
std::optional<model_finding> check_vocab_size(const model_facts & facts) {
    const double n_tokens = facts.number("vocab_size");

    const gguf_tensor_shape * embd = facts.head.find_tensor("token_embd.weight");
    if (!(is_model(facts, "none") || is_model(facts, "no_vocab")) || !embd || !(n_tokens > (double) embd->ne[1])) {
        return std::nullopt;
    }
    return facts.finding("vocab_size", "must be at most the rows of token_embd.weight, which has " +
        std::to_string(embd->ne[1]));
}

std::optional<model_finding> check_token_types(const model_facts & facts) {
    const gguf_value * tokens = facts.head.find(key_tokens);
    const gguf_value * types  = facts.head.find(key_types);
    if (tokens && tokens->n == 0) {
        return model_finding{ key_tokens, "[]", "must not be empty" };
    }
    if (!tokens || !types) {
        return std::nullopt;
    }
    if (types->n < tokens->n) {
        return model_finding{ key_types, std::to_string(types->n) + " values",
            "must have one value for each of " + std::to_string(tokens->n) + " tokens" };
    }
    // WordPiece has no way to write a byte
    for (size_t i = 0; is_model(facts, "bert") && i < types->n; ++i) {
        if (types->number(i) == type_byte) {
            return model_finding{ key_types, number_text(type_byte) + " (token " + std::to_string(i) + ")",
                "this kind of vocabulary (bert) has no byte tokens" };
        }
    }
    return std::nullopt;
}

// the first byte of a token as the RWKV tokenizer unescapes it, and whether it is all of the token; -1 if there is none
static int first_byte(std::string_view text, bool & alone) {
    const auto digit = [](char c) { return (uint8_t) (c >= 'a' ? c - 'a' + 10 : c - '0'); };

    size_t n    = 1;
    int    byte = text.empty() ? -1 : (uint8_t) text[0];

    if (byte == '\\') {
        n    = 2;
        byte = text.size() < 2 ? -1 : (uint8_t) text[1];
        if (byte == 'x') {
            n    = 4;
            byte = text.size() < 4 ? -1 : (uint8_t) ((digit(text[2]) << 4) + digit(text[3]));
        } else if (byte == 't' || byte == 'n' || byte == 'r') {
            byte = byte == 't' ? '\t' : byte == 'n' ? '\n' : '\r';
        }
    }
    // what follows and comes to nothing: half an escape
    const std::string_view rest = text.substr(std::min(n, text.size()));
    alone = rest.empty() || rest == "\\" || rest == "\\x" || (rest.size() == 3 && rest.substr(0, 2) == "\\x");
    return byte;
}

bool has_rwkv_vocab(const model_facts & facts) {
    return is_model(facts, "rwkv");
}

// It looks for the longest token from a byte on. Where tokens begin with that byte but none of them matches, it goes
// back to the beginning of the text, for ever: so the byte by itself must be a token.
std::optional<model_finding> check_rwkv_vocab(const model_facts & facts) {
    const gguf_value * tokens = facts.head.find(key_tokens);
    if (!tokens || !tokens->is_string()) {
        return std::nullopt;
    }

    constexpr size_t none = SIZE_MAX;

    size_t begins[256];
    bool   is_token[256] = {};
    std::fill(std::begin(begins), std::end(begins), none);

    for (size_t i = 0; i < tokens->n; ++i) {
        const std::string      empty = "[EMPTY_" + std::to_string(i) + "]"; // llama.cpp's name for it
        const std::string_view text  = tokens->text(i).empty() ? std::string_view(empty) : tokens->text(i);

        bool alone = false;
        const int byte = first_byte(text, alone);
        if (byte >= 0) {
            begins[byte] = std::min(begins[byte], i);
            is_token[byte] |= alone;
        }
    }
    for (int byte = 0; byte < 256; ++byte) {
        if (begins[byte] != none && !is_token[byte]) {
            return model_finding{ key_tokens,
                "token " + std::to_string(begins[byte]) + ": " + std::string(tokens->text(begins[byte]).substr(0, 64)),
                "begins with byte " + std::to_string(byte) + ", which is no token by itself" };
        }
    }
    return std::nullopt;
}

// a table of replacements, all of them after a header that says how long the search tree is
std::optional<model_finding> check_charsmap(const model_facts & facts) {
    constexpr size_t n_longest = 1024; // Unicode's longest is 33 bytes

    const gguf_value * map = facts.head.find(key_map);
    if (!map || map->is_string() || map->bytes.size() < sizeof(uint32_t)) {
        return std::nullopt;
    }
    uint32_t n_tree;
    memcpy(&n_tree, map->bytes.data(), sizeof(n_tree));

    size_t n_run = 0;
    for (size_t i = sizeof(n_tree) + (size_t) n_tree; i < map->bytes.size(); ++i) {
        n_run = map->bytes[i] == 0 ? 0 : n_run + 1;
        if (n_run > n_longest) {
            return model_finding{ key_map, std::to_string(map->bytes.size()) + " bytes",
                "replaces a character by more than " + std::to_string(n_longest) + " bytes" };
        }
    }
    return std::nullopt;
}

std::optional<model_finding> check_duplicates(const model_facts & facts) {
    const gguf_value * tokens = facts.head.find(key_tokens);
    if (!tokens || !tokens->is_string()) {
        return std::nullopt;
    }

    std::unordered_set<std::string_view> seen;
    for (size_t i = 0; i < tokens->n; ++i) {
        const std::string_view text = tokens->text(i);
        if (!text.empty() && !seen.insert(text).second) {
            return model_finding{ key_tokens, "token " + std::to_string(i) + ": " + std::string(text.substr(0, 64)),
                "is in the vocabulary twice" };
        }
    }
    return std::nullopt;
}

} // namespace addon
