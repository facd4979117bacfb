// Whether the system gives a process the threads that it will need.
//
// llama.cpp does not survive a refusal: ggml asserts, and libgomp ends the process. So they are tried first.

#pragma once

namespace addon {

// starts n threads, all of them at once, and ends them; throws ERR_H2O_THREAD_LIMIT if one of them does not start
void require_threads(int n);

} // namespace addon
