#include "assertion.h"

#include "log.h"

#include <ggml.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

// of the OpenMP runtime, where llama.cpp was built with it
#if defined(__GNUC__) && !defined(_WIN32)
extern "C" __attribute__((weak)) int omp_in_parallel(void);
#endif

namespace addon {

static thread_local assertion_scope * scope_current = nullptr;

// of all threads, where there is somebody to tell
static std::mutex                  scopes_mutex;
static std::set<assertion_scope *> scopes;

// an exception that leaves a parallel region takes the process with it
static bool is_in_parallel_region() {
#if defined(__GNUC__) && !defined(_WIN32)
    return omp_in_parallel && omp_in_parallel();
#else
    return false;
#endif
}

struct assertion_handler {
    // MSVC takes it that functions of C, as ggml_abort is one, never throw
    static bool can_throw(const assertion_scope * scope) {
#ifdef _MSC_VER
        (void) scope;
        return false;
#else
        return scope && scope->kind == assertion_scope::plain && std::uncaught_exceptions() == 0 && !is_in_parallel_region();
#endif
    }

    // false if there is nobody to tell
    static bool give_up(const assertion_scope * scope, const char * message) {
        std::lock_guard<std::mutex> lock(scopes_mutex);

        if (scope) {
            if (scope->on_lost) {
                scope->on_lost(message);
            }
            return (bool) scope->on_lost;
        }

        // a thread of OpenMP or ggml does not say whose work it does: all that compute now are given up
        const bool any = std::any_of(scopes.begin(), scopes.end(),
            [](const assertion_scope * s) { return s->kind == assertion_scope::computing; });
        for (const assertion_scope * s : scopes) {
            if (!any || s->kind == assertion_scope::computing) {
                s->on_lost(message);
            }
        }
        return !scopes.empty();
    }

    static void handle(const char * text) {
        const assertion_scope * scope = scope_current;

        // without the folders of whoever built it
        const char * folder  = strstr(text, "llama.cpp/");
        const char * message = folder ? folder + strlen("llama.cpp/") : text;

        if (can_throw(scope)) {
            throw std::runtime_error(message);
        }
        if (!give_up(scope, message)) {
            fprintf(stderr, "%s\n", message);
            return; // ggml ends the process
        }
        log_error(std::string(message) + "\n");
        for (;;) {
            std::this_thread::sleep_for(std::chrono::hours(1));
        }
    }
};

void assertion_install() {
    ggml_set_abort_callback(assertion_handler::handle);

    // ggml's own forks a debugger
#ifdef __GLIBCXX__
    std::set_terminate(__gnu_cxx::__verbose_terminate_handler);
#else
    std::set_terminate(std::abort);
#endif
}

assertion_scope::assertion_scope(work_kind kind, lost_callback on_lost) :
    kind(kind), on_lost(std::move(on_lost)), outer(scope_current) {
    scope_current = this;

    if (this->on_lost) {
        std::lock_guard<std::mutex> lock(scopes_mutex);
        scopes.insert(this);
    }
}

assertion_scope::~assertion_scope() {
    scope_current = outer;

    if (on_lost) {
        std::lock_guard<std::mutex> lock(scopes_mutex);
        scopes.erase(this);
    }
}

} // namespace addon
