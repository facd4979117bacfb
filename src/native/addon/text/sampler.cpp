#include "sampler.h"

#include "chat-prompt.h"
#include "json-schema.h"
#include "runtime/assertion.h"
#include "runtime/failure.h"

#include <algorithm>
#include <cmath>

namespace addon {

// far beyond any real logit, and small enough for the integer arithmetic of llama.cpp's bucket sort
static constexpr float logit_max = 1e7f;

static std::unique_ptr<grammar> grammar_of(const llama_vocab * vocab, const sampler_options & options) {
    grammar_rules rules;
    if (options.chat) {
        rules = options.chat->rules;
    } else {
        rules.text = options.json_schema.empty() ? options.grammar : json_schema_grammar(options.json_schema);
    }

    return rules.text.empty() ? nullptr : std::make_unique<grammar>(vocab, rules);
}

sampler::sampler(const llama_vocab * vocab, const sampler_options & options, const std::vector<llama_token> & past) :
    n_vocab(llama_vocab_n_tokens(vocab)),
    n_alternatives(options.n_logprobs),
    bias(sampler_bias_init(vocab, options)),
    chain(sampler_chain_init(vocab, options)),
    rules(grammar_of(vocab, options)) {
    for (const llama_token token : past) {
        llama_sampler_accept(chain.get(), token);
    }
}

// the candidates; false if no logit is a number
bool sampler::fill(const float * logits, llama_sampler * bias) {
    candidates.resize(n_vocab);

    bool has_number   = false;
    bool has_infinite = false;

    for (llama_token id = 0; id < n_vocab; ++id) {
        candidates[id] = { id, logits[id], 0.0f };
        has_number = has_number || (!std::isnan(logits[id]) && logits[id] != -INFINITY);
    }

    llama_token_data_array all = { candidates.data(), candidates.size(), -1, false };
    llama_sampler_apply(bias, &all);

    size_t n = 0;
    for (llama_token id = 0; id < n_vocab; ++id) {
        const float logit = candidates[id].logit;

        if (logit == INFINITY) {
            if (!has_infinite) {
                n = 0;
                has_infinite = true;
            }
            candidates[n++] = { id, 0.0f, 0.0f };
        } else if (!has_infinite && std::isfinite(logit)) {
            candidates[n++] = { id, std::clamp(logit, -logit_max, logit_max), 0.0f };
        }
    }
    candidates.resize(n);

    return has_number;
}

llama_token sampler::choose() {
    llama_token_data_array cur_p = { candidates.data(), candidates.size(), -1, false };

    llama_sampler_apply(chain.get(), &cur_p);

    if (cur_p.size == 0) {
        throw failure("ERR_H2O_SAMPLING", "the samplers leave no token");
    }

    // a chain that selects nothing, or by what is not a number, cannot be right: the likeliest token is
    const bool is_selected = cur_p.selected >= 0 && (size_t) cur_p.selected < cur_p.size &&
        !std::isnan(cur_p.data[cur_p.selected].p);
    const llama_token_data * chosen = is_selected ? &cur_p.data[cur_p.selected] : std::max_element(
        cur_p.data, cur_p.data + cur_p.size,
        [](const llama_token_data & a, const llama_token_data & b) { return a.logit < b.logit; });

    return chosen->id;
}

// The grammar has accepted it. LLAMA_TOKEN_NULL where the grammar is at its end
llama_token sampler::choose_fitting(const float * logits) {
    if (!fill(logits, bias.get())) {
        throw failure("ERR_H2O_DECODE_FAILED", "the model gives no number for any token");
    }
    if (!candidates.empty()) {
        const llama_token token = choose();
        if (!rules || (rules->fits(token) && rules->accept(token))) {
            return token;
        }
    }
    if (!rules) {
        throw failure("ERR_H2O_SAMPLING", "the logit bias forbids every token");
    }
    return choose_resampling(logits);
}

llama_token sampler::choose_resampling(const float * logits) {
    fill(logits, bias.get());
    rules->restrict(candidates);

    for (std::vector<llama_token_data> fitting = candidates;; candidates = fitting) {
        if (fitting.empty()) {
            if (rules->is_complete()) {
                return LLAMA_TOKEN_NULL;
            }
            throw failure("ERR_H2O_SAMPLING", "no token of the model fits the grammar here");
        }

        const llama_token token = choose();
        if (!rules->fits(token)) {
            throw failure("ERR_H2O_SAMPLING", "the samplers chose a token that does not fit the grammar",
                {{"token", (double) token}});
        }
        if (rules->accept(token)) {
            return token;
        }
        fitting.erase(std::find_if(fitting.begin(), fitting.end(),
            [&](const llama_token_data & candidate) { return candidate.id == token; }));
    }
}

void sampler::tell_logprobs(const float * logits, drawn_token & drawn) {
    fill(logits, nullptr);

    float  max = -INFINITY;
    double sum = 0.0;
    for (const auto & c : candidates) {
        max = std::max(max, c.logit);
    }
    for (const auto & c : candidates) {
        sum += std::exp((double) c.logit - max);
    }
    const double log_sum = max + std::log(sum);

    drawn.logprob = -INFINITY;
    for (const auto & c : candidates) {
        if (c.id == drawn.token) {
            drawn.logprob = (float) (c.logit - log_sum);
        }
    }

    const size_t n = std::min<size_t>(n_alternatives, candidates.size());
    std::partial_sort(candidates.begin(), candidates.begin() + n, candidates.end(),
        [](const llama_token_data & a, const llama_token_data & b) {
            return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
        });
    for (size_t i = 0; i < n; ++i) {
        drawn.alternatives.emplace_back(candidates[i].id, (float) (candidates[i].logit - log_sum));
    }
}

drawn_token sampler::draw(const float * logits, const std::atomic<bool> & is_aborted) {
    const assertion_scope scope(assertion_scope::plain);
    limit_work              work = { &is_aborted, n_sampler_work };
    const limit_work_scope  work_scope(work);

    drawn_token drawn;
    try {
        drawn.token = choose_fitting(logits);
        if (drawn.token == LLAMA_TOKEN_NULL) {
            return drawn;
        }
        llama_sampler_accept(chain.get(), drawn.token);
        if (n_alternatives >= 0) {
            tell_logprobs(logits, drawn);
        }
    } catch (const failure &) {
        throw;
    } catch (const limit_work_aborted &) {
        throw;
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const limit_work_too_long & err) {
        throw failure("ERR_H2O_SAMPLING", std::string("the grammar cannot be followed further, ") + err.what() +
            ": let it have fewer alternatives, and fewer repetitions in a row");
    } catch (const std::exception & err) {
        throw failure("ERR_H2O_SAMPLING", std::string("llama.cpp's samplers failed: ") + err.what());
    }
    return drawn;
}

} // namespace addon
