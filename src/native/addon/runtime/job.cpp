#include "job.h"

#include "log.h"

#include "limit-work.h"

#include <new>

namespace addon {

failure caught_failure() {
    try {
        throw;
    } catch (const failure & err) {
        return err;
    } catch (const limit_work_aborted & err) {
        return failure("ERR_H2O_INTERRUPTED", err.what());
    } catch (const std::bad_alloc &) {
        return failure("ERR_H2O_CONTEXT_MEMORY", "out of memory");
    } catch (const std::exception & err) {
        return failure("ERR_H2O_DECODE_FAILED", err.what());
    }
}

void job::execute() noexcept {
    log_capture log;

    try {
        run();
    } catch (...) {
        error = caught_failure();
    }

    if (error && !log.text().empty()) {
        error->details.emplace_back("log", log.text());
    }
}

void job::settle(Napi::Env env) {
    Napi::HandleScope scope(env);

    try {
        try {
            if (error) {
                reject(*error);
            } else {
                deferred.Resolve(result(env));
            }
        } catch (const Napi::Error & err) {
            deferred.Reject(err.Value());
        }
    } catch (const Napi::Error &) {
        // a worker thread that is being terminated runs no JavaScript any more: nobody waits for the promise
    }
}

} // namespace addon
