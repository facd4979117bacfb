#include "grammar.h"

#include "model/vocab.h"
#include "runtime/deep-stack.h"
#include "runtime/failure.h"
#include "runtime/log.h"

#include "reasoning-budget.h"

#include "limit-work.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace addon {

// tokens up to here need no stack of their own
static constexpr size_t n_longest_plain = 256;

// nested groups and rules, of which each may lead to the next
static constexpr size_t n_depth_max = 100000;

static size_t longest_token(const llama_vocab * vocab) {
    size_t n = 0;
    for (llama_token id = 0; id < llama_vocab_n_tokens(vocab); ++id) {
        n = std::max(n, strlen(llama_vocab_get_text(vocab, id)));
    }
    return n;
}

static llama_token any_eog(const llama_vocab * vocab) {
    for (llama_token id = 0; id < llama_vocab_n_tokens(vocab); ++id) {
        if (llama_vocab_is_eog(vocab, id)) {
            return id;
        }
    }
    return LLAMA_TOKEN_NULL;
}

static failure refusal(const std::string & log) {
    std::string reason = log.substr(0, log.find('\n'));
    if (reason.find(": stoul") != std::string::npos) { // what the standard library says of a number
        reason = "it has a number that is too large";
    }
    return failure("ERR_H2O_INVALID_ARGUMENT", "the grammar is refused: " + (reason.empty() ? "no rule" : reason),
        {{"log", log}});
}

// every rule that a repetition stands for is one level at most, and there are 100000 (patches/limits/grammar.patch)
static size_t depth_of(const std::string & text) {
    size_t n = 0;
    for (const char c : text) {
        n += c == '(' || c == '=' || c == '*' || c == '+' || c == '?';
        n += c == '{' ? 2000 : 0;
    }
    return n;
}

static llama_sampler * init_sampler(const llama_vocab * vocab, const grammar_rules & rules) {
    if (!rules.is_lazy) {
        return llama_sampler_init_grammar(vocab, rules.text.c_str(), "root");
    }

    std::vector<const char *> patterns;
    for (const std::string & pattern : rules.trigger_patterns) {
        patterns.push_back(pattern.c_str());
    }
    return llama_sampler_init_grammar_lazy_patterns(vocab, rules.text.c_str(), "root", patterns.data(),
        patterns.size(), rules.trigger_tokens.data(), rules.trigger_tokens.size());
}

static llama_sampler * parse(const llama_vocab * vocab, const grammar_rules & rules) {
    const log_capture log;

    try {
        if (llama_sampler * smpl = init_sampler(vocab, rules)) {
            return smpl;
        }
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const limit_work_aborted &) {
        throw;
    } catch (const std::exception & err) {
        throw refusal(err.what());
    }
    limit_work_poll(); // throws again what the parser has swallowed
    throw refusal(log.text());
}

grammar::grammar(const llama_vocab * vocab, const grammar_rules & rules) :
    vocab(vocab), has_token_rules(rules.text.find('<') != std::string::npos), is_lazy(rules.is_lazy) {
    const std::string & text = rules.text;

    if (llama_vocab_type(vocab) == LLAMA_VOCAB_TYPE_NONE) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "the model has no tokenizer, which a grammar needs");
    }
    if ((size_t) std::count(text.begin(), text.end(), '(') > n_depth_max) {
        throw refusal("it is nested too deeply");
    }

    n_deepest = longest_token(vocab);
    eog       = any_eog(vocab);

    const size_t n_depth = std::min(depth_of(text), 3*n_depth_max);
    if (!run_on_stack(n_depth * 2048 + (8 << 20), [&] { smpl.reset(parse(vocab, rules)); })) {
        throw refusal("it is too long");
    }

    if (is_lazy && !rules.thinking_start.empty() && !rules.thinking_ends.empty()) {
        thoughts.reset(common_reasoning_budget_init(vocab, {rules.thinking_start}, rules.thinking_ends, {},
            std::numeric_limits<int32_t>::max()));
    }
    for (const llama_token token : rules.prefix) {
        if (thoughts) {
            llama_sampler_accept(thoughts.get(), token);
        } else if (!is_lazy && !(fits(token) && advance(token))) {
            throw refusal("it does not go on from the prompt");
        }
    }
}

void grammar::run(const std::function<void()> & work) const {
    if (n_deepest <= n_longest_plain) {
        work();
        return;
    }
    if (!run_on_stack(n_deepest * 1024 + (8 << 20), work)) {
        throw failure("ERR_H2O_SAMPLING", "the answer, or a token of the model, is too long for a grammar",
            {{"bytes", (double) n_deepest}});
    }
}

bool grammar::is_thinking() const {
    if (!thoughts) {
        return false;
    }
    const common_reasoning_budget_state state = common_reasoning_budget_get_state(thoughts.get());
    return state != REASONING_BUDGET_IDLE && state != REASONING_BUDGET_DONE;
}

bool grammar::fits(llama_token token) const {
    if (is_thinking()) {
        return true;
    }

    llama_token_data       one   = { token, 1.0f, 0.0f };
    llama_token_data_array array = { &one, 1, -1, false };

    run([&] { llama_sampler_apply(smpl.get(), &array); });

    return one.logit != -INFINITY;
}

void grammar::restrict(std::vector<llama_token_data> & candidates) const {
    if (is_thinking()) {
        return;
    }

    llama_token_data_array array = { candidates.data(), candidates.size(), -1, false };

    run([&] { llama_sampler_apply(smpl.get(), &array); });

    candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
        [](const llama_token_data & candidate) { return candidate.logit == -INFINITY; }), candidates.end());
}

bool grammar::is_complete() const {
    return eog != LLAMA_TOKEN_NULL && fits(eog);
}

// the end of the thoughts may itself be a trigger, as in llama.cpp's common_sampler_accept
bool grammar::accept(llama_token token) {
    const bool was_thinking = is_thinking();

    if (!was_thinking && !advance(token)) {
        return false;
    }
    if (thoughts) {
        llama_sampler_accept(thoughts.get(), token);
    }
    if (was_thinking && !is_thinking()) {
        const llama_tokens * end = common_reasoning_budget_get_end_match(thoughts.get());
        for (size_t i = 0; end && i < end->size(); ++i) {
            advance((*end)[i]);
        }
    }
    return true;
}

bool grammar::advance(llama_token token) {
    if (is_lazy) {
        n_deepest += vocab_piece(vocab, token).size(); // std::regex recurses over what it searches
    }
    if (!has_token_rules) {
        run([&] { llama_sampler_accept(smpl.get(), token); });
        return true;
    }

    sampler_ptr next(llama_sampler_clone(smpl.get()));
    try {
        run([&] { llama_sampler_accept(next.get(), token); });
    } catch (const failure &) {
        throw;
    } catch (const std::runtime_error &) {
        return false;
    }
    smpl = std::move(next);

    return true;
}

} // namespace addon
