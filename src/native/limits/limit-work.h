// Ends work of llama.cpp that takes too long. Upstream has no way to end it. A text of some megabytes takes seconds; a
// hostile grammar or JSON schema takes any time and memory.
//
// It is no part of the method. It is for callers that tokenize or sample (src/native/addon). Their work calls
// limit_work_poll wherever it grows with user input. On a thread without a limit_work_scope the call does nothing.

#pragma once

#include "llama.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

// what one piece of work may take, on whichever threads it runs
struct limit_work {
    const std::atomic<bool> * is_aborted = nullptr;

    // Counts down. A unit is about a nanosecond of time; five units or more go with every byte of memory
    uint64_t n_left = UINT64_MAX;
};

// What limit_work_poll throws. It is no std::runtime_error: callers catch those as their own.
struct LLAMA_API limit_work_aborted : public std::exception {
    const char * what() const noexcept override { return "the work was aborted"; }
};

struct LLAMA_API limit_work_too_long : public std::exception {
    const char * what() const noexcept override { return "it takes too much time or memory"; }
};

struct LLAMA_API limit_work_too_deep : public std::exception {
    const char * what() const noexcept override { return "it is nested too deeply"; }
};

// during its life, work on this thread is `work`
class LLAMA_API limit_work_scope {
public:
    // n_stack: bytes that the thread's stack has from here on, or 0 if it cannot be too short
    explicit limit_work_scope(limit_work & work, size_t n_stack = 0);
    ~limit_work_scope();

    limit_work_scope(const limit_work_scope &) = delete;
    limit_work_scope & operator=(const limit_work_scope &) = delete;

    // this thread's, or null
    static limit_work * current();

private:
    friend struct limit_work_thread;

    limit_work &       work;
    uintptr_t        stack_end; // 0: not looked at
    limit_work_scope * outer;
};

// before work of so many units; throws one of the above
LLAMA_API void limit_work_poll(uint64_t n_units = 0);
