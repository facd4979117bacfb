// Tensors that a model lacks: llama.cpp says that it can do without them, and then cannot.

#include "model-rules.h"

namespace addon {

namespace {

// "where a layer has this tensor, it has that or the other"
struct companion {
    const char * arch;
    const char * tensor;
    const char * needs;
    const char * instead = nullptr;
};

} // namespace

static const companion companions[] = {
    { "phi3",           "attn_output.weight",    "attn_qkv.weight",      "attn_q.weight"           },
    { "phi3",           "attn_q.weight",         "attn_k.weight"                                   },
    { "phi3",           "attn_q.weight",         "attn_v.weight"                                   },
    { "pockettts",      "attn_output.weight",    "attn_qkv.weight",      "attn_q.weight"           },
    { "pockettts",      "attn_q.weight",         "attn_k.weight"                                   },
    { "pockettts",      "attn_q.weight",         "attn_v.weight"                                   },
    { "qwen35",         "ssm_conv1d.weight",     "attn_qkv.weight"                                 },
    { "qwen35",         "ssm_conv1d.weight",     "attn_gate.weight"                                },
    { "qwen35moe",      "ssm_conv1d.weight",     "attn_qkv.weight"                                 },
    { "qwen35moe",      "ssm_conv1d.weight",     "attn_gate.weight"                                },
    { "qwen3next",      "ssm_conv1d.weight",     "attn_qkv.weight",      "ssm_in.weight"           },
    { "qwen3next",      "attn_qkv.weight",       "attn_gate.weight",     "attn_output.weight"      },
    { "falcon-h1",      "ssm_conv1d.weight",     "ssm_conv1d.bias"                                 },
    { "granitehybrid",  "ssm_conv1d.weight",     "ssm_conv1d.bias"                                 },
    { "nemotron_h",     "ssm_conv1d.weight",     "ssm_conv1d.bias"                                 },
    { "nemotron_h_moe", "ssm_conv1d.weight",     "ssm_conv1d.bias"                                 },
    { "rwkv6qwen2",     "time_mix_first.weight", "time_mix_ln.weight"                              },
    { "hy_v3",          "ffn_gate_inp.weight",   "ffn_down_exps.weight"                            },
    { "hy_v3",          "ffn_gate_inp.weight",   "ffn_up_exps.weight",   "ffn_gate_up_exps.weight" },
    { "mimo2",          "ffn_gate_inp.weight",   "ffn_down_exps.weight"                            },
    { "mimo2",          "ffn_gate_inp.weight",   "ffn_up_exps.weight"                              },
    { "step35",         "ffn_gate_inp.weight",   "ffn_down_exps.weight"                            },
    { "step35",         "ffn_gate_inp.weight",   "ffn_up_exps.weight"                              },
};

// of these, llama.cpp takes a file without a first layer for a drafter, which reads what another model computed
static const char * const drafters[] = {
    "bailingmoe3", "cohere2moe", "deepseek2", "deepseek2-ocr", "deepseek32", "deepseek4", "glm-dsa", "glm4moe",
    "hy_v3", "mistral4", "nemotron_h", "nemotron_h_moe", "qwen35", "qwen35moe", "qwen3next", "step35",
};

std::optional<model_finding> check_companions(const model_facts & facts) {
    const double n_layer = facts.number("block_count", 0);

    for (const companion & c : companions) {
        if (facts.arch != c.arch) {
            continue;
        }
        for (size_t il = 0; il < n_layer; ++il) {
            const std::string layer = "blk." + std::to_string(il) + ".";

            const auto has = [&](const char * name) { return name && facts.head.find_tensor(layer + name); };
            if (has(c.tensor) && !has(c.needs) && !has(c.instead)) {
                return model_finding{ layer + c.needs, "missing", "must be where " + layer + c.tensor + " is" };
            }
        }
    }
    return std::nullopt;
}

std::optional<model_finding> check_trunk(const model_facts & facts) {
    if (!(facts.number("nextn_predict_layers") > 0) || !is_among(drafters, facts.arch) ||
        facts.head.find_tensor("blk.0.attn_norm.weight")) {
        return std::nullopt;
    }
    return facts.finding("nextn_predict_layers", "counts all layers of this file; the model that they belong to is in another");
}

} // namespace addon
