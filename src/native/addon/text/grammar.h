// What a generation may say: a GBNF grammar, or one made of a JSON schema, that follows the tokens as they come.
//
// llama.cpp's grammars recurse as deep as a grammar is nested or a token is long, and throw or assert where a token
// comes that does not fit. Here depth has a stack to match, and whatever fails is a failure with a code. What all of it
// may take is for the thread's limit_work to say, whose exceptions pass.

#pragma once

#include "sampler-chain.h"

#include <functional>
#include <string>
#include <vector>

namespace addon {

struct grammar_rules {
    std::string text; // GBNF with a rule "root"

    // what the prompt holds of the answer already
    std::vector<llama_token> prefix;

    // A lazy grammar asks for nothing before a trigger has come, and a trigger within the model's thoughts is none
    bool                                  is_lazy = false;
    std::vector<std::string>              trigger_patterns; // regular expressions
    std::vector<llama_token>              trigger_tokens;
    std::vector<llama_token>              thinking_start;   // empty: the model does not think
    std::vector<std::vector<llama_token>> thinking_ends;
};

class grammar {
public:
    // throws failure, ERR_H2O_INVALID_ARGUMENT, with the parser's words where the text is no grammar
    grammar(const llama_vocab * vocab, const grammar_rules & rules);

    // whether the token may come next
    bool fits(llama_token token) const;

    // removes what may not come next
    void restrict(std::vector<llama_token_data> & candidates) const;

    // whether the text may end here
    bool is_complete() const;

    // The token must fit. Behind characters, fits() also takes tokens of several that a rule for a token does not go on
    // from: false for one of these, and nothing has changed
    bool accept(llama_token token);

private:
    void run(const std::function<void()> & work) const;
    bool is_thinking() const;
    bool advance(llama_token token);

    const llama_vocab * vocab;
    bool                has_token_rules;
    bool                is_lazy;
    size_t              n_deepest; // bytes of text that may be recursed into: a token, or what came before a trigger
    llama_token         eog;       // one of the tokens that end a generation, or LLAMA_TOKEN_NULL
    sampler_ptr         smpl;
    sampler_ptr         thoughts;  // llama.cpp's reasoning budget, which has no bound here; may be null
};

} // namespace addon
