// A thread with a queue of jobs, bound to one JavaScript environment.
//
// Jobs run in the order in which they were submitted and settle their promises on the JavaScript thread. The event loop
// is kept alive while a job is outstanding, and only then. When the environment ends in the middle of work (process
// exit, a worker thread that is terminated), the running job is aborted and the thread joined before Node-API goes
// away, and before the process destroys the library's static objects.
//
// A job that computes can be lost: if llama.cpp gives up in the middle of it, its thread never returns (assertion.h).
// Then this job and those behind it are rejected. The thread is left alone, and what they hold is never freed.
//
// All public functions belong to the JavaScript thread.

#pragma once

#include "job.h"

#include <napi.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace addon {

class worker : public std::enable_shared_from_this<worker> {
public:
    // throws ERR_H2O_THREAD_LIMIT where the system gives no thread
    static std::shared_ptr<worker> start(Napi::Env env, const char * name);

    // once per environment: process.exit() of the main thread runs no cleanup hooks, but says 'exit' first
    static void end_with_process(Napi::Env env);

    // one that lives until the job of its submit_last() is settled, whoever holds it
    static std::shared_ptr<worker> start_once(Napi::Env env, const char * name);

    // runs one job on a thread of its own; on this one where the system gives none: a dispose must not fail
    static Napi::Promise run_once(Napi::Env env, const char * name, std::unique_ptr<job> j);

    ~worker();

    worker(const worker &) = delete;
    worker & operator=(const worker &) = delete;

    Napi::Promise submit(std::unique_ptr<job> j);

    // like submit; the thread ends when the job is settled
    Napi::Promise submit_last(std::unique_ptr<job> j);

    // asks every outstanding job to end early, or every one of a group
    void abort();
    void abort(int32_t group);

    // aborts, joins, and drops what is outstanding; may be called twice
    void shutdown();

    // why, if a job was lost; else empty
    std::string lost();

private:
    using handle = std::weak_ptr<worker>;

    static void deliver(Napi::Env env, Napi::Function, handle * self, void *);
    static void on_env_exit(void * self);

    using wakeup = Napi::TypedThreadSafeFunction<handle, void, deliver>;

    explicit worker(Napi::Env env) : env(env) {}

    void loop();
    void run(job & j);
    void lose(const std::string & message); // any thread

    template <class Wanted>
    void abort_if(Wanted wanted);

    void deliver_done();
    void give_up();
    void end_thread();

    Napi::Env env;
    wakeup    wake;

    // JavaScript thread only
    size_t n_outstanding = 0;
    bool   ends          = false; // after the outstanding jobs
    bool   is_shut_down  = false;

    // keeps a worker that nobody else holds alive until its last job is settled
    std::shared_ptr<worker> self;

    std::mutex                       mutex;
    std::condition_variable          changed;
    std::deque<std::unique_ptr<job>> queue;
    std::deque<std::unique_ptr<job>> done;
    job *                            running  = nullptr;
    bool                             stopping = false;
    bool                             ended    = false; // the thread has left its loop
    std::string                      lost_message;

    std::thread thread;
};

} // namespace addon
