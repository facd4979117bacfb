#include "grammar.h"

#include "assertion.h"
#include "deep-stack.h"
#include "failure.h"
#include "log.h"

#include "h2o-work.h"

#include <algorithm>
#include <cmath>
#include <cstring>

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
    const std::string reason = log.substr(0, log.find('\n'));
    return failure("ERR_H2O_INVALID_ARGUMENT", "the grammar is refused: " + (reason.empty() ? "no rule" : reason),
        {{"log", log}});
}

// every rule that a repetition stands for is one level at most, and there are 100000 (patches/grammar.patch)
static size_t depth_of(const std::string & text) {
    size_t n = 0;
    for (const char c : text) {
        n += c == '(' || c == '=' || c == '*' || c == '+' || c == '?';
        n += c == '{' ? 2000 : 0;
    }
    return n;
}

static llama_sampler * parse(const llama_vocab * vocab, const std::string & text) {
    const log_capture log;

    try {
        if (llama_sampler * smpl = llama_sampler_init_grammar(vocab, text.c_str(), "root")) {
            return smpl;
        }
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const h2o_work_aborted &) {
        throw;
    } catch (const std::exception & err) {
        throw refusal(err.what());
    }
    h2o_work_poll(); // the parser catches everything
    throw refusal(log.text());
}

grammar::grammar(const llama_vocab * vocab, const std::string & text) :
    vocab(vocab), has_token_rules(text.find('<') != std::string::npos) {
    if (llama_vocab_type(vocab) == LLAMA_VOCAB_TYPE_NONE) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "the model has no tokenizer, which a grammar needs");
    }
    if ((size_t) std::count(text.begin(), text.end(), '(') > n_depth_max) {
        throw refusal("it is nested too deeply");
    }

    n_longest = longest_token(vocab);
    eog       = any_eog(vocab);

    const size_t n_depth = std::min(depth_of(text), 3*n_depth_max);
    if (!run_on_stack(n_depth * 2048 + (8 << 20), [&] { smpl.reset(parse(vocab, text)); })) {
        throw refusal("it is too long");
    }
}

void grammar::run(const std::function<void()> & work) const {
    if (n_longest <= n_longest_plain) {
        work();
        return;
    }
    if (!run_on_stack(n_longest * 1024 + (8 << 20), work)) {
        throw failure("ERR_H2O_SAMPLING", "the model has tokens that are too long for a grammar",
            {{"bytes", (double) n_longest}});
    }
}

bool grammar::fits(llama_token token) const {
    llama_token_data       one   = { token, 1.0f, 0.0f };
    llama_token_data_array array = { &one, 1, -1, false };

    run([&] { llama_sampler_apply(smpl.get(), &array); });

    return one.logit != -INFINITY;
}

void grammar::restrict(std::vector<llama_token_data> & candidates) const {
    llama_token_data_array array = { candidates.data(), candidates.size(), -1, false };

    run([&] { llama_sampler_apply(smpl.get(), &array); });

    candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
        [](const llama_token_data & candidate) { return candidate.logit == -INFINITY; }), candidates.end());
}

bool grammar::is_complete() const {
    return eog != LLAMA_TOKEN_NULL && fits(eog);
}

bool grammar::accept(llama_token token) {
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
