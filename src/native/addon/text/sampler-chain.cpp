#include "sampler-chain.h"

#include "runtime/failure.h"

#include <algorithm>
#include <cmath>

namespace addon {

// below, a logit over it can be infinite
static constexpr float temperature_min = 1e-6f;

static void add(llama_sampler * chain, llama_sampler * smpl) {
    llama_sampler_chain_add(chain, smpl);
}

static llama_sampler * init_dry(const llama_vocab * vocab, const sampler_options & o) {
    if (o.dry_multiplier != 0.0f && llama_vocab_type(vocab) == LLAMA_VOCAB_TYPE_NONE) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "the model has no tokenizer, which dryMultiplier needs");
    }

    std::vector<const char *> breakers;
    for (const std::string & text : o.dry_sequence_breakers) {
        breakers.push_back(text.c_str());
    }

    return llama_sampler_init_dry(vocab, o.dry_multiplier, o.dry_base, o.dry_allowed_length, o.dry_penalty_last_n,
        breakers.data(), breakers.size());
}

static llama_sampler * init_named(const llama_vocab * vocab, const sampler_options & o, const std::string & name) {
    const int32_t n_vocab     = llama_vocab_n_tokens(vocab);
    const float   temperature = o.temperature < temperature_min ? 0.0f : o.temperature;

    if (name == "penalties") {
        return llama_sampler_init_penalties(n_vocab, o.repeat_last_n, o.repeat_penalty, o.frequency_penalty,
            o.presence_penalty);
    }
    if (name == "dry")         { return init_dry(vocab, o); }
    if (name == "top_n_sigma") { return llama_sampler_init_top_n_sigma(o.top_n_sigma); }
    if (name == "top_k")       { return llama_sampler_init_top_k(o.top_k); }
    if (name == "typ_p")       { return llama_sampler_init_typical(o.typical_p, 0); }
    if (name == "top_p")       { return llama_sampler_init_top_p(o.top_p, 0); }
    if (name == "min_p")       { return llama_sampler_init_min_p(o.min_p, 0); }
    if (name == "xtc")         { return llama_sampler_init_xtc(o.xtc_probability, o.xtc_threshold, 0, o.seed); }
    if (name == "temperature") {
        return llama_sampler_init_temp_ext(temperature, o.dynatemp_range, o.dynatemp_exponent);
    }
    if (name == "infill")      { return llama_sampler_init_infill(vocab); }

    throw failure("ERR_H2O_INVALID_ARGUMENT", "there is no sampler " + name);
}

static bool has(const sampler_options & o, const char * name) {
    return std::find(o.samplers.begin(), o.samplers.end(), name) != o.samplers.end();
}

// Nothing but penalties can change which token is the likeliest: the others need not run to find it
static bool is_greedy(const sampler_options & o) {
    return o.temperature < temperature_min && o.dynatemp_range == 0.0f && has(o, "temperature") && o.mirostat == 0 &&
        !(has(o, "typ_p") && o.typical_p < 1.0f) && !(has(o, "xtc") && o.xtc_probability > 0.0f) &&
        !has(o, "infill") && !has(o, "adaptive_p");
}

static void add_named(llama_sampler * chain, const llama_vocab * vocab, const sampler_options & o) {
    const bool greedy = is_greedy(o);

    for (const std::string & name : o.samplers) {
        if (name != "adaptive_p" && (!greedy || name == "penalties" || name == "dry")) {
            add(chain, init_named(vocab, o, name));
        }
    }

    if (greedy) {
        add(chain, llama_sampler_init_greedy());
    } else if (has(o, "adaptive_p")) {
        add(chain, llama_sampler_init_adaptive_p(o.adaptive_target, o.adaptive_decay, o.seed));
    } else {
        add(chain, llama_sampler_init_dist(o.seed));
    }
}

sampler_ptr sampler_bias_init(const llama_vocab * vocab, const sampler_options & options) {
    const int32_t n_vocab = llama_vocab_n_tokens(vocab);

    std::vector<llama_logit_bias> bias = options.logit_bias;

    for (llama_token id = 0; options.ignore_eos && id < n_vocab; ++id) {
        if (llama_vocab_is_eog(vocab, id)) {
            bias.push_back({ id, -INFINITY });
        }
    }

    int32_t n_suppress = 0;
    const llama_token * suppress = llama_vocab_get_suppress_tokens(vocab, &n_suppress);
    for (int32_t i = 0; i < n_suppress; ++i) {
        bias.push_back({ suppress[i], -INFINITY });
    }

    return sampler_ptr(bias.empty() ? nullptr :
        llama_sampler_init_logit_bias(n_vocab, (int32_t) bias.size(), bias.data()));
}

sampler_ptr sampler_chain_init(const llama_vocab * vocab, const sampler_options & o) {
    sampler_ptr chain(llama_sampler_chain_init(llama_sampler_chain_default_params()));

    if (o.mirostat == 0) {
        add_named(chain.get(), vocab, o);
        return chain;
    }

    add(chain.get(), llama_sampler_init_temp(o.temperature < temperature_min ? 0.0f : o.temperature));
    add(chain.get(), o.mirostat == 1
        ? llama_sampler_init_mirostat(llama_vocab_n_tokens(vocab), o.seed, o.mirostat_tau, o.mirostat_eta, 100)
        : llama_sampler_init_mirostat_v2(o.seed, o.mirostat_tau, o.mirostat_eta));

    return chain;
}

} // namespace addon
