#include "worker.h"

#include "assertion.h"

#include <set>
#include <system_error>
#include <utility>

namespace addon {

// the workers of this thread's environment whose threads have not ended
static thread_local std::set<worker *> live;

static failure ended_because(const std::string & lost_message) {
    if (lost_message.empty()) {
        return failure("ERR_H2O_DISPOSED", "the thread of this object has ended");
    }
    return failure("ERR_H2O_DECODE_FAILED", "llama.cpp gave up in the middle of a call; this context is of no use any more",
        {{"log", lost_message}});
}

void worker::end_with_process(Napi::Env env) {
    const auto end_all = [](const Napi::CallbackInfo &) {
        while (!live.empty()) {
            on_env_exit(*live.begin());
        }
    };

    Napi::Object process = env.Global().Get("process").As<Napi::Object>();
    process.Get("on").As<Napi::Function>().Call(process, { Napi::String::New(env, "exit"), Napi::Function::New(env, end_all) });
}

std::shared_ptr<worker> worker::start(Napi::Env env, const char * name) {
    std::shared_ptr<worker> w(new worker(env));

    w->wake = wakeup::New(env, name, 0, 1, new handle(w), [](Napi::Env, void *, handle * h) { delete h; });
    w->wake.Unref(env);

    // after the thread-safe function: hooks run last in, first out, and the thread must have ended before its wakeup
    // does
    napi_add_env_cleanup_hook(env, on_env_exit, w.get());

    try {
        w->thread = std::thread(&worker::loop, w.get());
    } catch (const std::system_error & err) {
        throw Napi::Error(env, failure("ERR_H2O_THREAD_LIMIT",
            std::string("the system gives no thread: ") + err.what(), {{"wanted", 1.0}, {"given", 0.0}}).to_js(env));
    }

    live.insert(w.get());

    return w;
}

std::shared_ptr<worker> worker::start_once(Napi::Env env, const char * name) {
    std::shared_ptr<worker> w = start(env, name);
    w->self = w;
    return w;
}

Napi::Promise worker::run_once(Napi::Env env, const char * name, std::unique_ptr<job> j) {
    try {
        return start_once(env, name)->submit_last(std::move(j));
    } catch (const Napi::Error &) {
        j->execute();
        j->settle(env);
        return j->promise();
    }
}

std::string worker::lost() {
    std::lock_guard<std::mutex> lock(mutex);
    return lost_message;
}

worker::~worker() {
    shutdown();
}

Napi::Promise worker::submit(std::unique_ptr<job> j) {
    Napi::Promise promise = j->promise();

    if (ends || is_shut_down) {
        j->reject(ended_because(lost()));
        return promise;
    }

    if (n_outstanding++ == 0) {
        wake.Ref(env);
    }

    {
        std::lock_guard<std::mutex> lock(mutex);
        queue.push_back(std::move(j));
    }
    changed.notify_one();

    return promise;
}

Napi::Promise worker::submit_last(std::unique_ptr<job> j) {
    Napi::Promise promise = submit(std::move(j));
    ends = true;
    return promise;
}

template <class Wanted>
void worker::abort_if(Wanted wanted) {
    std::lock_guard<std::mutex> lock(mutex);

    if (running && wanted(*running)) {
        running->abort();
    }
    for (auto & j : queue) {
        if (wanted(*j)) {
            j->abort();
        }
    }
}

void worker::abort() {
    abort_if([](const job &) { return true; });
}

void worker::abort(int32_t group) {
    abort_if([group](const job & j) { return j.group == group; });
}

void worker::shutdown() {
    if (is_shut_down) {
        return;
    }
    is_shut_down = true;
    live.erase(this);

    abort();
    if (thread.joinable()) {
        end_thread();
    }

    queue.clear();
    done.clear();

    napi_remove_env_cleanup_hook(env, on_env_exit, this);
    wake.Release();
}

// joins it, or lets go of one that does not come back; that may still look at this object
void worker::end_thread() {
    {
        std::unique_lock<std::mutex> lock(mutex);
        stopping = true;
        changed.notify_all();
        changed.wait(lock, [&] { return ended || !lost_message.empty(); });
    }
    if (lost().empty()) {
        thread.join();
    } else {
        thread.detach();
        new std::shared_ptr<worker>(weak_from_this().lock());
    }
}

void worker::loop() {
    for (;;) {
        std::unique_ptr<job> j;
        {
            std::unique_lock<std::mutex> lock(mutex);
            changed.wait(lock, [&] { return stopping || !queue.empty(); });
            if (stopping) {
                ended = true;
                changed.notify_all();
                return;
            }
            j = std::move(queue.front());
            queue.pop_front();
            running = j.get();
        }

        run(*j);

        std::lock_guard<std::mutex> lock(mutex);
        if (!lost_message.empty()) {
            j.release(); // rejected already, and its JavaScript values belong to another thread
            return;
        }
        running = nullptr;
        done.push_back(std::move(j));
        wake.NonBlockingCall();
    }
}

void worker::run(job & j) {
    const assertion_scope scope(j.computes() ? assertion_scope::computing : assertion_scope::plain,
        [this](const std::string & message) { lose(message); });

    j.execute();
}

void worker::lose(const std::string & message) {
    std::lock_guard<std::mutex> lock(mutex);

    if (lost_message.empty() && running) {
        lost_message = message;
        changed.notify_all();
        wake.NonBlockingCall();
    }
}

void worker::deliver(Napi::Env env, Napi::Function, handle * h, void *) {
    if (napi_env(env) == nullptr) {
        return; // the environment is going away
    }
    if (std::shared_ptr<worker> w = h->lock()) {
        w->deliver_done();
    }
}

void worker::deliver_done() {
    for (;;) {
        std::unique_ptr<job> j;
        {
            std::lock_guard<std::mutex> lock(mutex);
            if (done.empty()) {
                break;
            }
            j = std::move(done.front());
            done.pop_front();
        }
        n_outstanding--;
        j->settle(env);
    }

    if (!is_shut_down && !lost().empty()) {
        return give_up();
    }
    if (n_outstanding == 0 && !is_shut_down) {
        wake.Unref(env);
        if (ends) {
            shutdown();
            self.reset();
        }
    }
}

void worker::give_up() {
    job *                            lost_job = nullptr;
    std::deque<std::unique_ptr<job>> waiting;
    {
        std::lock_guard<std::mutex> lock(mutex);
        std::swap(lost_job, running);
        waiting.swap(queue);
    }
    wake.Unref(env);
    shutdown();

    const failure       err = ended_because(lost());
    const Napi::HandleScope scope(env);
    try {
        lost_job->reject(err);
        for (auto & j : waiting) {
            j->reject(err);
        }
    } catch (const Napi::Error &) {
        // a worker thread that is being terminated: nobody waits
    }
}

void worker::on_env_exit(void * data) {
    worker * w = static_cast<worker *>(data);

    std::shared_ptr<worker> keep = std::move(w->self);
    w->shutdown();
}

} // namespace addon
