// stock-fill: a model with random weights for any architecture that the unpatched llama.cpp knows.
//
//   stock-fill METADATA OUT [GAIN]
//
// METADATA is a GGUF file without tensors. Which tensors there are, and of what shape, the
// architecture's own loader says: all of them, the optional ones too, in F32; those of layers behind
// the trunk too, that predict further tokens. OUT is the whole model. Uses llama.h and gguf.h only.

#include "ggml-backend.h"
#include "gguf.h"
#include "llama.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

[[noreturn]] static void die(const std::string & what) {
    fprintf(stderr, "stock-fill: %s\n", what.c_str());
    exit(1);
}

static bool has(const std::string & name, const char * part) {
    return name.find(part) != std::string::npos;
}

struct distribution {
    float mean;
    float deviation;
};

// Activations keep unit variance from layer to layer. Attention is to be sharp enough for a wrong scale, cap or key to
// show: its logits deviate by the square of gain_qk, half of which is in q and half in k.
static distribution distribution_of(const std::string & name, const ggml_tensor * t, float gain_qk) {
    if (has(name, "norm") || has(name, "rope_f")) {
        const bool of_heads = has(name, "attn_q_norm") || has(name, "attn_k_norm");
        const bool is_bias  = has(name, ".bias");

        return { is_bias ? 0.0f : of_heads ? gain_qk : 1.0f, 0.1f };
    }
    if (has(name, "ssm_a") || has(name, "ssm_dt.bias")) {
        return { -3.0f, 0.5f }; // a state that decays
    }
    if (ggml_n_dims(t) == 1) {
        return { 0.0f, 0.2f };
    }
    if (has(name, "token_embd")) {
        return { 0.0f, 1.0f };
    }

    const float gain =
        has(name, "attn_q") || has(name, "attn_k") ? gain_qk :
        has(name, "attn_output")                   ? 2.0f    : 1.0f; // attention averages values away

    return { 0.0f, gain/std::sqrt((float) t->ne[0]) };
}

static std::vector<float> draw(const std::string & name, const ggml_tensor * t, float gain_qk) {
    const distribution d = distribution_of(name, t, gain_qk);

    std::seed_seq seed(name.begin(), name.end());
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal(d.mean, d.deviation);

    std::vector<float> data(ggml_nelements(t));
    for (float & x : data) {
        x = normal(engine);
    }
    return data;
}

// only 4-bit floating point has them, beside the weights
static bool is_scale_of_weights(const std::string & name) {
    return has(name, ".scale") || has(name, ".input_scale");
}

struct filled {
    float gain_qk;

    std::map<std::string, const ggml_tensor *> tensors; // those that layers share come more than once
};

static void fill(ggml_tensor * t, void * user_data) {
    filled & res = *static_cast<filled *>(user_data);

    const std::vector<float> data = draw(t->name, t, res.gain_qk);

    ggml_backend_tensor_set(t, data.data(), 0, ggml_nbytes(t));
    if (!is_scale_of_weights(t->name)) {
        res.tensors.emplace(t->name, t);
    }
}

// only what goes wrong
static void log_errors(ggml_log_level level, const char * text, void *) {
    if (level == GGML_LOG_LEVEL_ERROR) {
        fputs(text, stderr);
    }
}

int main(int argc, char ** argv) {
    if (argc != 3 && argc != 4) {
        die("usage: stock-fill METADATA OUT [GAIN]");
    }

    llama_log_set(log_errors, nullptr);
    llama_backend_init();

    gguf_context * gguf = gguf_init_from_file(argv[1], { true, nullptr });
    if (!gguf) {
        die(std::string("cannot read ") + argv[1]);
    }

    ggml_backend_dev_t no_devices[] = { nullptr };

    llama_model_params params = llama_model_default_params();
    params.devices  = no_devices;
    params.load_mtp = true; // else their tensors are not asked for

    filled res = { argc == 4 ? std::stof(argv[3]) : 1.7f, {} };

    llama_model * model = llama_model_init_from_user(gguf, fill, &res, params);
    if (!model) {
        die(std::string("cannot make the model of ") + argv[1]);
    }

    for (const auto & [name, t] : res.tensors) {
        gguf_add_tensor(gguf, t);
    }
    if (!gguf_write_to_file(gguf, argv[2], false)) {
        die(std::string("cannot write ") + argv[2]);
    }

    llama_model_free(model);
    gguf_free(gguf);
    llama_backend_free();
    return 0;
}
