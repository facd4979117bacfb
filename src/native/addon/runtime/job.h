// One piece of work for a worker thread, with the promise that it settles.
//
// Made, settled and destroyed on the JavaScript thread; run() is the only part that another thread sees, and it touches
// no JavaScript value: input and result are plain members.

#pragma once

#include "failure.h"

#include <napi.h>

#include <atomic>
#include <cstdint>
#include <optional>

namespace addon {

// in a catch block: what was thrown, as a failure
failure caught_failure();

class job {
public:
    // group: of the jobs that are aborted together
    explicit job(Napi::Env env, int32_t group = 0) : group(group), deferred(Napi::Promise::Deferred::New(env)) {}
    virtual ~job() = default;

    const int32_t group;

    // its run() computes with other threads, so an assertion in it cannot be an exception
    virtual bool computes() const { return false; }

    // worker thread: run() with every exception turned into a failure
    void execute() noexcept;

    // JavaScript thread
    void          settle(Napi::Env env);
    void          reject(const failure & err) { deferred.Reject(err.to_js(deferred.Env())); }
    Napi::Promise promise() const { return deferred.Promise(); }

    // any thread; run() looks at it when it can
    void abort()            { abort_flag.store(true, std::memory_order_relaxed); }
    bool is_aborted() const { return abort_flag.load(std::memory_order_relaxed); }

    const std::atomic<bool> & aborted() const { return abort_flag; }

protected:
    virtual void        run()                  = 0;
    virtual Napi::Value result(Napi::Env env)  = 0;

private:
    Napi::Promise::Deferred deferred;
    std::optional<failure>  error;
    std::atomic<bool>       abort_flag{false};
};

} // namespace addon
