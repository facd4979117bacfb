// What a generation may say: a GBNF grammar, or one made of a JSON schema, that follows the tokens as they come.
//
// llama.cpp's grammars recurse as deep as a grammar is nested or a token is long, and throw or assert where a token comes
// that does not fit. Here depth has a stack to match, and whatever fails is a failure with a code. What all of it may take
// is for the thread's h2o_work to say, whose exceptions pass.

#pragma once

#include "sampler-chain.h"

#include <functional>
#include <string>
#include <vector>

namespace addon {

class grammar {
public:
    // throws failure, ERR_H2O_INVALID_ARGUMENT, with the parser's words where the text is no grammar
    grammar(const llama_vocab * vocab, const std::string & text);

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

    const llama_vocab * vocab;
    bool                has_token_rules;
    size_t              n_longest; // bytes in the longest token
    llama_token         eog;       // one of the tokens that end a generation, or LLAMA_TOKEN_NULL
    sampler_ptr         smpl;
};

} // namespace addon
