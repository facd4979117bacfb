// Sizes of recurrent layers' states. They are made as large as the metadata says, before a matrix of another size is
// seen.

#include "model-rules.h"

namespace addon {

namespace {

// "must be the product of these"; nullptr: 2
struct product {
    const char * arch;
    const char * key;
    const char * factor;
    const char * other;
};

} // namespace

static const product products[] = {
    { "jamba",         "ssm.inner_size", "embedding_length", nullptr              },
    { "granitehybrid", "ssm.inner_size", "embedding_length", nullptr              },
    { "qwen35",        "ssm.inner_size", "ssm.state_size",   "ssm.time_step_rank" },
    { "qwen35moe",     "ssm.inner_size", "ssm.state_size",   "ssm.time_step_rank" },
    { "qwen3next",     "ssm.inner_size", "ssm.state_size",   "ssm.time_step_rank" },
    { "qwen4exp",      "ssm.inner_size", "ssm.state_size",   "ssm.time_step_rank" },
};

// the kernel writes so many numbers at once, beyond the end of a head that has fewer
static constexpr double rwkv7_step = 64;

static const char * const rwkv7[] = { "rwkv7", "arwkv7" };

// layers without KV heads are recurrent; a graph has an input for them, which must be used
static const char * const hybrids[] = { "jamba", "granitehybrid" };

static bool has_recurrent_layer(const model_facts & facts) {
    for (size_t il = 0; il < (size_t) facts.number("block_count", 0); ++il) {
        if (facts.number_at("attention.head_count_kv", il, 1) == 0) {
            return true;
        }
    }
    return false;
}

std::optional<model_finding> check_recurrent(const model_facts & facts) {
    for (const product & p : products) {
        if (facts.arch != p.arch) {
            continue;
        }
        const double factor = facts.number(p.factor);
        const double other  = p.other ? facts.number(p.other) : 2;
        const double value  = facts.number(p.key);
        if (value == value && factor == factor && other == other && value != factor * other) {
            return facts.finding(p.key, "must be " + facts.key_of(p.factor) + " times " +
                (p.other ? facts.key_of(p.other) : "2") + ", which is " + number_text(factor * other));
        }
    }

    if (is_among(hybrids, facts.arch) && !has_recurrent_layer(facts)) {
        return facts.finding("attention.head_count_kv", "must be 0 in some layer: this architecture has recurrent ones");
    }

    const double width = facts.number("embedding_length");
    const double head  = facts.number("wkv.head_size");
    if (std::fmod(width, head) > 0) {
        return facts.finding("wkv.head_size", "must divide " + facts.key_of("embedding_length") + ", which is " +
            number_text(width));
    }
    if (is_among(rwkv7, facts.arch) && std::fmod(head, rwkv7_step) > 0) {
        return facts.finding("wkv.head_size", "must be a multiple of " + number_text(rwkv7_step));
    }
    return std::nullopt;
}

} // namespace addon
