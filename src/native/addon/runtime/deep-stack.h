// Work that recurses as deep as its input is long, on a thread with a stack to match. An assertion in it is an
// exception (assertion.h), and it is the limit_work of the thread that waits for it.

#pragma once

#include <cstddef>
#include <functional>

namespace addon {

// runs work to its end and throws what it throws; false if there is no such stack to be had, and nothing has run.
// Polls see the end of the stack 4 MiB before it (limit-work.h)
bool run_on_stack(size_t n_bytes, const std::function<void()> & work);

} // namespace addon
