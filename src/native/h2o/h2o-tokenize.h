// A way to end llama_tokenize early: upstream has none, and a text of some megabytes takes seconds.
//
// Not the method's: a service for who tokenizes (src/native/addon). The tokenizers ask h2o_tokenize_poll wherever their work
// grows with the text; it does nothing on a thread that has no h2o_tokenize_scope.

#pragma once

#include "llama.h"

#include <atomic>
#include <exception>

// what llama_tokenize throws when it is ended
struct LLAMA_API h2o_tokenize_aborted : public std::exception {
    const char * what() const noexcept override { return "tokenizing was aborted"; }
};

// during its life, llama_tokenize on this thread ends when the flag is set
class LLAMA_API h2o_tokenize_scope {
public:
    explicit h2o_tokenize_scope(const std::atomic<bool> & is_aborted);
    ~h2o_tokenize_scope();

    h2o_tokenize_scope(const h2o_tokenize_scope &) = delete;
    h2o_tokenize_scope & operator=(const h2o_tokenize_scope &) = delete;

private:
    const std::atomic<bool> * outer;
};

// throws h2o_tokenize_aborted if the thread's flag is set
void h2o_tokenize_poll();
