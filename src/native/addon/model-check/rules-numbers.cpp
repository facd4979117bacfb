// Counts, epsilons, experts and the alignment. Limits are those of llama.cpp (llama-hparams.h) or of arithmetic.

#include "model-rules.h"

#include <cfloat>
#include <cstring>

namespace addon {

static constexpr double n_layer_max  = 512;
static constexpr double n_expert_max = 1024;
static constexpr double any_count    = 4294967295.0;

namespace {

struct range {
    const char * arch; // nullptr: all of them; else the key must be there
    const char * key;
    double       min;
    double       max;
};

// "at most what the other key says"
struct limit {
    const char * key;
    const char * other;
};

} // namespace

static const range ranges[] = {
    { nullptr,         "block_count",                      1, n_layer_max  },
    { nullptr,         "expert_count",                     0, n_expert_max },
    { nullptr,         "attention.layer_norm_epsilon",     0, FLT_MAX      },
    { nullptr,         "attention.layer_norm_rms_epsilon", 0, FLT_MAX      },
    { nullptr,         "attention.group_norm_epsilon",     0, FLT_MAX      },
    { nullptr,         "hyper_connection.epsilon",         0, FLT_MAX      },
    { nullptr,         "wkv.head_size",                    1, any_count    },
    { nullptr,         "ssm.conv_kernel",                  1, any_count    },
    { nullptr,         "ssm.inner_size",                   1, any_count    },
    { nullptr,         "ssm.state_size",                   1, any_count    },
    { nullptr,         "full_attention_interval",          1, any_count    },
    { "mamba2",        "ssm.group_count",                  1, any_count    },
    { "mamba2",        "ssm.time_step_rank",               1, any_count    },
    { "falcon-h1",     "ssm.group_count",                  1, any_count    },
    { "falcon-h1",     "ssm.time_step_rank",               1, any_count    },
    { "granitehybrid", "ssm.group_count",                  1, any_count    },
    { "granitehybrid", "ssm.time_step_rank",               1, any_count    },
    { "nemotron_h",    "ssm.group_count",                  1, any_count    },
    { "nemotron_h",    "ssm.time_step_rank",               1, any_count    },
    { "nemotron_h_moe", "ssm.group_count",                 1, any_count    },
    { "nemotron_h_moe", "ssm.time_step_rank",              1, any_count    },
    { "plamo2",        "ssm.time_step_rank",               1, any_count    },
    { "plamo2",        "ssm.group_count",                  0, 0            }, // its convolution has no groups
    { nullptr,         "token_shift_count",                1, 2            },
    { "olmo2",         "attention.head_count",             1, any_count    },
    { "phimoe",        "attention.head_count",             1, any_count    },
    { "gemma2",        "attention.head_count",             1, any_count    },
    { "gemma3",        "attention.head_count",             1, any_count    },
    { "deepseek2",     "attention.head_count",             1, any_count    },
    { "grovemoe",      "experts_per_group",                1, any_count    },
    { "deepseek4",     "attention.output_group_count",     1, any_count    },
    { "ernie4_5-moe",  "interleave_moe_layer_step",        1, any_count    },
    { "afmoe",         "attention.sliding_window",         1, any_count    }, // its graph takes a window cache for granted
};

static const limit limits[] = {
    { "nextn_predict_layers", "block_count" },
    { "posnet.block_count",   "block_count" },
    { "convnext.block_count", "block_count" },
};

// one number, or one per layer of the model
static const char * const per_layer[] = {
    "feed_forward_length",
    "attention.head_count",
    "attention.head_count_kv",
    "expert_used_count",
};

std::optional<model_finding> check_ranges(const model_facts & facts) {
    for (const range & r : ranges) {
        if (r.arch ? facts.arch != r.arch : !facts.find(r.key)) {
            continue;
        }
        const double value = facts.number(r.key);
        if (!(value >= r.min && value <= r.max)) {
            return facts.finding(r.key, r.max == FLT_MAX || r.max == any_count
                ? "must be a number of at least " + number_text(r.min)
                : r.min == r.max ? "must be " + number_text(r.min)
                : "must be between " + number_text(r.min) + " and " + number_text(r.max));
        }
    }
    for (const limit & l : limits) {
        if (facts.number(l.key) > facts.number(l.other)) {
            return facts.finding(l.key, "must be at most " + facts.key_of(l.other) + ", which is " +
                number_text(facts.number(l.other)));
        }
    }
    return std::nullopt;
}

std::optional<model_finding> check_per_layer(const model_facts & facts) {
    const double n_layer = facts.number("block_count");

    for (const char * key : per_layer) {
        const gguf_value * value = facts.find(key);
        if (value && value->is_array && (double) value->n != n_layer) {
            return facts.finding(key, "must have one value for each of " + number_text(n_layer) + " layers");
        }
    }
    return std::nullopt;
}

std::optional<model_finding> check_experts(const model_facts & facts) {
    const double n_expert = facts.number("expert_count", 0);
    const double n_used   = facts.largest("expert_used_count", 0);
    const double n_group  = facts.number("expert_group_count", 0);
    const double n_chosen = facts.number("expert_group_used_count", 0);

    // these ignore what they say about a single expert
    if ((facts.arch == "hunyuan-dense" || facts.arch == "hunyuan_vl") && n_expert <= 1) {
        return std::nullopt;
    }
    const std::string has = facts.key_of("expert_count") + " is " + number_text(n_expert);

    if (n_used > n_expert) {
        return facts.finding("expert_used_count", "must be at most the number of experts: " + has);
    }
    if (n_expert > 0 && !(n_used > 0)) {
        return facts.finding("expert_used_count", "must be at least 1: " + has);
    }
    if (n_group > 0 && n_group >= n_expert) {
        return facts.finding("expert_group_count", "must be less than the number of experts: " + has);
    }
    if (n_group > 1 && std::fmod(n_expert, n_group) != 0) {
        return facts.finding("expert_group_count", "must divide the number of experts: " + has);
    }
    if (n_group > 1 && !(n_chosen > 0 && n_chosen < n_group)) {
        return facts.finding("expert_group_used_count", "must be at least 1 and less than " +
            facts.key_of("expert_group_count") + ", which is " + number_text(n_group));
    }
    return std::nullopt;
}

std::optional<model_finding> check_alignment(const model_facts & facts) {
    constexpr const char * key = "general.alignment";

    const gguf_value * value = facts.head.find(key);
    if (!value) {
        return std::nullopt;
    }
    const double n = value->number();

    if (!(n >= 1 && n <= any_count) || std::fmod(std::log2(n), 1.0) != 0) {
        return model_finding{ key, model_facts::value_text(value), "must be a power of two" };
    }
    if (facts.head.data_offset > facts.head.n_bytes && !facts.head.tensors.empty()) {
        return model_finding{ key, model_facts::value_text(value), "puts the tensors behind the end of the file" };
    }
    return std::nullopt;
}

} // namespace addon
