#include "deep-stack.h"

#include "assertion.h"

#include "limit-work.h"

#include <exception>

#ifdef _WIN32
#include <windows.h>
#else
#include <pthread.h>
#endif

namespace addon {

namespace {

// frames under the address sanitizer are several times as large
#ifdef __SANITIZE_ADDRESS__
constexpr size_t n_frame_factor = 4;
#else
constexpr size_t n_frame_factor = 1;
#endif

struct task {
    const std::function<void()> & work;
    size_t                        n_bytes;
    limit_work &                    limits;
    std::exception_ptr            error;

    void run() noexcept {
        const assertion_scope assertions(assertion_scope::plain);
        const limit_work_scope  scope(limits, n_bytes);
        try {
            work();
        } catch (...) {
            error = std::current_exception();
        }
    }
};

#ifdef _WIN32

DWORD WINAPI run_task(LPVOID data) {
    static_cast<task *>(data)->run();
    return 0;
}

bool run_thread(size_t n_bytes, task & t) {
    const HANDLE thread = CreateThread(nullptr, n_bytes, run_task, &t, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
    if (!thread) {
        return false;
    }
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    return true;
}

#else

void * run_task(void * data) {
    static_cast<task *>(data)->run();
    return nullptr;
}

bool run_thread(size_t n_bytes, task & t) {
    const size_t n_page = 65536; // of any system

    pthread_attr_t attr;
    pthread_t      thread;

    pthread_attr_init(&attr);
    const bool ok =
        pthread_attr_setstacksize(&attr, (n_bytes + n_page - 1) / n_page * n_page) == 0 &&
        pthread_create(&thread, &attr, run_task, &t) == 0;
    pthread_attr_destroy(&attr);

    if (ok) {
        pthread_join(thread, nullptr);
    }
    return ok;
}

#endif

} // namespace

bool run_on_stack(size_t n_bytes, const std::function<void()> & work) {
    limit_work   unlimited;
    limit_work * limits = limit_work_scope::current();

    task t = { work, n_bytes*n_frame_factor, limits ? *limits : unlimited, nullptr };

    if (!run_thread(t.n_bytes, t)) {
        return false;
    }
    if (t.error) {
        std::rethrow_exception(t.error);
    }
    return true;
}

} // namespace addon
