// Heads and their sizes. Most of llama.cpp's graphs assert on these, when a context is made or in the middle of a call.

#include "model-rules.h"

namespace addon {

// test/addon/model-check/upstream-lists.test.ts reads both lists from the sources of llama.cpp

// the graphs of these assert that K and V have heads of one size
static const char * const equal_heads[] = {
    "afmoe", "bailingmoe2", "bitnet", "bloom", "chatglm", "cohere2", "command-r", "glm4", "glm4moe", "gpt2",
    "gptneox", "jais", "laguna", "minimax-m2", "minimax-m3", "mpt", "muse-glimmer", "nanbeige", "nemotron",
    "openelm", "phi2", "phi3", "phimoe", "qwen", "refact", "spark2_5", "stablelm", "starcoder",
};

// and these that rope turns all of a head, too
static const char * const equal_heads_and_rope[] = {
    "apertus", "arcee", "arctic", "baichuan", "chameleon", "codeshell", "cogvlm", "cohere2moe", "dbrx", "deci",
    "deepseek", "dots1", "dream", "ernie4_5", "ernie4_5-moe", "exaone", "exaone-moe", "exaone4", "falcon",
    "granite", "granite_swa", "granitemoe", "graniteswitch", "grok", "grovemoe", "hunyuan-dense", "hunyuan-moe",
    "hunyuan_vl", "hy_v3", "internlm2", "jais2", "llada", "llada-moe", "llama", "llama-embed", "llama4",
    "maincoder", "mellum", "minicpm", "mistral3", "olmo", "olmo2", "olmoe", "orion", "paddleocr",
    "pangu-embedded", "plamo", "pockettts", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe", "qwen3tts",
    "qwen3vl", "qwen3vlmoe", "rnd1", "seed_oss", "smallthinker", "smollm3", "starcoder2", "talkie", "xverse",
};

static bool has_window_sizes(const model_facts & facts) {
    return facts.find("attention.key_length_swa") || facts.find("attention.value_length_swa") ||
           facts.find("rope.dimension_count_swa");
}

std::optional<model_finding> check_heads(const model_facts & facts) {
    const double n_layer = facts.number("block_count", 0);

    for (size_t il = 0; il < n_layer; ++il) {
        const double n_head    = facts.number_at("attention.head_count",    il, 0);
        const double n_head_kv = facts.number_at("attention.head_count_kv", il, n_head);

        if (n_head_kv > 0 && n_head > 0 && std::fmod(n_head, n_head_kv) != 0) {
            return facts.finding("attention.head_count_kv", "must divide " + facts.key_of("attention.head_count") +
                ", which is " + number_text(n_head) + " in layer " + std::to_string(il));
        }
    }
    return std::nullopt;
}

// more queries than there are rows, where Q is as wide as its heads
static std::optional<model_finding> check_queries(const model_facts & facts) {
    const double n_layer = facts.number("block_count", 0);
    const double size    = facts.head_size("attention.key_length");

    for (size_t il = 0; il < n_layer; ++il) {
        const std::string name = "blk." + std::to_string(il) + ".attn_q";

        const bool                fused = !facts.head.find_tensor(name + ".weight");
        const gguf_tensor_shape * shape = facts.head.find_tensor(name + (fused ? "kv.weight" : ".weight"));
        if (!shape) {
            continue;
        }
        const double n_head    = facts.number_at("attention.head_count",    il, 0);
        const double n_head_kv = facts.number_at("attention.head_count_kv", il, n_head);
        const double n_rows    = (n_head + (fused ? 2 * n_head_kv : 0)) * size;

        if (n_rows > (double) shape->ne[1]) {
            return facts.finding("attention.head_count", "with heads of " + number_text(size) + " this needs " +
                number_text(n_rows) + " rows, but layer " + std::to_string(il) + " has " + std::to_string(shape->ne[1]));
        }
    }
    return std::nullopt;
}

// a cache as big as the metadata says, for a matrix that is smaller
static std::optional<model_finding> check_matrix(
        const model_facts & facts, const char * key, const char * key_window, const char * matrix) {
    const double n_layer = facts.number("block_count", 0);
    const double size    = std::fmin(facts.head_size(key), facts.number(key_window));

    for (size_t il = 0; il < n_layer; ++il) {
        const std::string name = "blk." + std::to_string(il) + "." + matrix + ".weight";

        const gguf_tensor_shape * shape = facts.head.find_tensor(name);
        if (!shape) {
            continue;
        }
        const double n_head    = facts.number_at("attention.head_count",    il, 0);
        const double n_head_kv = facts.number_at("attention.head_count_kv", il, n_head);

        if (n_head_kv * size > (double) shape->ne[1]) {
            return facts.finding(key, "with " + number_text(n_head_kv) + " heads this needs " +
                number_text(n_head_kv * size) + " rows, but " + name + " has " + std::to_string(shape->ne[1]));
        }
    }
    return std::nullopt;
}

std::optional<model_finding> check_head_sizes(const model_facts & facts) {
    const double n_k   = facts.head_size("attention.key_length");
    const double n_v   = facts.head_size("attention.value_length");
    const double n_rot = facts.number("rope.dimension_count", n_k);

    const bool rope_too = is_among(equal_heads_and_rope, facts.arch);

    if ((rope_too || is_among(equal_heads, facts.arch)) && n_k == n_k && !has_window_sizes(facts)) {
        if (n_k != n_v) {
            return facts.finding("attention.key_length", "must be the size of V's heads, which is " + number_text(n_v));
        }
        if (rope_too && n_rot != n_k) {
            return facts.finding("rope.dimension_count", "must be the size of a head, which is " + number_text(n_k));
        }
        if (auto found = check_queries(facts)) {
            return found;
        }
    }
    // latent and linear attention have matrices of other sizes under the same names
    if (facts.find("attention.kv_lora_rank") || facts.find("attention.key_length_mla") || facts.find("kda.head_dim")) {
        return std::nullopt;
    }
    if (auto found = check_matrix(facts, "attention.key_length", "attention.key_length_swa", "attn_k")) {
        return found;
    }
    return check_matrix(facts, "attention.value_length", "attention.value_length_swa", "attn_v");
}

} // namespace addon
