#include "sampler.h"

#include <algorithm>
#include <cmath>

namespace addon {

// far beyond any real logit, and small enough for the integer arithmetic of llama.cpp's bucket sort
static constexpr float logit_max = 1e7f;

// below, a logit over it can be infinite
static constexpr float temperature_min = 1e-6f;

sampler::sampler(const llama_vocab * vocab, sampler_options options) :
    n_vocab(llama_vocab_n_tokens(vocab)),
    chain(llama_sampler_chain_init(llama_sampler_chain_default_params()), llama_sampler_free) {
    if (options.ignore_eos) {
        is_banned.resize(n_vocab);
        for (llama_token id = 0; id < n_vocab; ++id) {
            is_banned[id] = llama_vocab_is_eog(vocab, id);
        }
    }

    if (options.temperature < temperature_min) {
        llama_sampler_chain_add(chain.get(), llama_sampler_init_greedy());
        return;
    }

    llama_sampler_chain_add(chain.get(), llama_sampler_init_top_k(options.top_k));
    llama_sampler_chain_add(chain.get(), llama_sampler_init_top_p(options.top_p, 1));
    llama_sampler_chain_add(chain.get(), llama_sampler_init_min_p(options.min_p, 1));
    llama_sampler_chain_add(chain.get(), llama_sampler_init_temp (options.temperature));
    llama_sampler_chain_add(chain.get(), llama_sampler_init_dist (options.seed));
}

llama_token sampler::sample(const float * logits) {
    candidates.clear();
    candidates.reserve(n_vocab);

    bool has_infinite = false;

    for (llama_token id = 0; id < n_vocab; ++id) {
        const float logit = logits[id];

        if (!is_banned.empty() && is_banned[id]) {
            continue;
        }

        if (logit == INFINITY) {
            if (!has_infinite) {
                candidates.clear();
                has_infinite = true;
            }
            candidates.push_back({ id, 0.0f, 0.0f });
        } else if (!has_infinite && std::isfinite(logit)) {
            candidates.push_back({ id, std::clamp(logit, -logit_max, logit_max), 0.0f });
        }
    }

    if (candidates.empty()) {
        return 0;
    }

    llama_token_data_array cur_p = { candidates.data(), candidates.size(), -1, false };

    llama_sampler_apply(chain.get(), &cur_p);

    // a chain that selects nothing cannot happen with finite candidates; the first of them is as good as any
    const size_t selected = cur_p.selected >= 0 && (size_t) cur_p.selected < cur_p.size ? cur_p.selected : 0;
    const llama_token token = cur_p.data[selected].id;

    llama_sampler_accept(chain.get(), token);

    return token;
}

} // namespace addon
