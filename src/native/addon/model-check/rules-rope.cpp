// Rope: how much of a head it turns, and by which of several positions. Its kernels assert, or divide by what they are
// given.

#include "model-rules.h"

namespace addon {

// may say that rope turns nothing: there is none in their graphs, or not always
static const char * const no_rope[] = {
    "bailingmoe3", "bert", "bloom", "gpt2", "gptj", "jais", "jamba", "jina-bert-v2", "kimi-k3", "kimi-linear",
    "mpt", "nemotron_h", "nemotron_h_moe", "refact", "starcoder", "t5", "t5encoder",
};

static bool may_lack_rope(const model_facts & facts) {
    // its graph asks this key, which is true where it is missing
    const bool is_off = facts.arch == "granitehybrid" && facts.number("rope.scaling.finetuned", 1) == 0;

    return is_off || is_among(no_rope, facts.arch);
}

static const char * const rope_scalings[] = { "none", "linear", "yarn", "longrope" };

// their tokens have several positions, and the sections say which of them turns which pair
static const char * const many_positions[] = {
    "paddleocr", "qwen2vl", "qwen35", "qwen35moe", "qwen3tts", "qwen3vl", "qwen3vlmoe", "qwen4exp",
};

std::optional<model_finding> check_rope(const model_facts & facts) {
    const gguf_value * scaling = facts.find("rope.scaling.type");
    if (scaling && scaling->is_string() && !scaling->is_array && !is_among(rope_scalings, scaling->text())) {
        return facts.finding("rope.scaling.type", "must be none, linear, yarn or longrope");
    }

    const double n_k = facts.head_size("attention.key_length");

    const struct { const char * key; double size; } sides[] = {
        { "rope.dimension_count",     n_k                                          },
        { "rope.dimension_count_swa", facts.number("attention.key_length_swa", n_k) },
    };
    for (const auto & side : sides) {
        const double n_rot = facts.number(side.key);
        if (n_rot > side.size) {
            return facts.finding(side.key, "must be at most the size of a head, which is " + number_text(side.size));
        }
        if (n_k == n_k && std::fmod(n_rot, 2) != 0 && n_rot == n_rot) {
            return facts.finding(side.key, "must be even");
        }
        // the kernel skips what it has turned, and begins anew
        if (n_k == n_k && n_rot == 0 && !may_lack_rope(facts)) {
            return facts.finding(side.key, "must be at least 2");
        }
    }
    return std::nullopt;
}

std::optional<model_finding> check_rope_sections(const model_facts & facts) {
    constexpr const char * key        = "rope.dimension_sections";
    constexpr size_t       n_sections = 4; // the last is no token's

    const bool         needed   = is_among(many_positions, facts.arch);
    const gguf_value * sections = facts.find(key);
    if (!sections) {
        return needed ? std::optional(facts.finding(key, "must say how many pairs each position turns")) : std::nullopt;
    }

    double n_turned = 0;
    double n_all    = 0;
    for (size_t i = 0; i < n_sections; ++i) {
        const double n = facts.number_at(key, i, 0);
        if (!(n >= 0)) {
            return facts.finding(key, "must be numbers of at least 0");
        }
        n_turned += i + 1 < n_sections ? n : 0;
        n_all    += n;
    }
    if (needed && n_turned == 0) {
        return facts.finding(key, "must not all be 0");
    }
    if (n_all > facts.head_size("attention.key_length")) {
        return facts.finding(key, "must together be at most the size of a head, which is " +
            number_text(facts.head_size("attention.key_length")));
    }
    return std::nullopt;
}

} // namespace addon
