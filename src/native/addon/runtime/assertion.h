// Where llama.cpp gives up (GGML_ASSERT, GGML_ABORT) the process goes on.
//
// On a thread of ours, outside of a computation, the assertion becomes an exception:
// llama.cpp's own handlers make a failed load or a failed context of it, as of any other. In
// the middle of a computation other threads are at work in the same memory, and nothing can be
// taken back: there the thread stops for good, and its job is given up with all that it holds.
//
// Nothing of this costs anything until it happens. What it cannot help is an assertion in a destructor.

#pragma once

#include <functional>
#include <string>

namespace addon {

// once per process, before anything else of llama.cpp; from here on it attaches no debugger to the process either
void assertion_install();

// what an assertion on this thread does during the life of this object; they nest
class assertion_scope {
public:
    using lost_callback = std::function<void(const std::string & message)>;

    enum work_kind { plain, computing };

    // Plain work: the assertion is thrown, as std::runtime_error. Computing, or where it cannot be thrown: the thread
    // stops for good, after `on_lost` has told somebody (on any thread); without `on_lost` the process ends.
    explicit assertion_scope(work_kind kind, lost_callback on_lost = nullptr);

    ~assertion_scope();

    assertion_scope(const assertion_scope &) = delete;
    assertion_scope & operator=(const assertion_scope &) = delete;

private:
    friend struct assertion_handler;

    work_kind         kind;
    lost_callback     on_lost;
    assertion_scope * outer;
};

} // namespace addon
