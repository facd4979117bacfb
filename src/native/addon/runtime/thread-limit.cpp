#include "thread-limit.h"

#include "failure.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace addon {

void require_threads(int n) {
    std::mutex               mutex;
    std::condition_variable  changed;
    bool                     ended = false;
    std::vector<std::thread> threads;
    std::string              reason;

    threads.reserve(n > 0 ? n : 0);
    try {
        for (int i = 0; i < n; ++i) {
            threads.emplace_back([&] {
                std::unique_lock<std::mutex> lock(mutex);
                changed.wait(lock, [&] { return ended; });
            });
        }
    } catch (const std::system_error & err) {
        reason = err.what();
    }

    {
        std::lock_guard<std::mutex> lock(mutex);
        ended = true;
    }
    changed.notify_all();
    for (std::thread & thread : threads) {
        thread.join();
    }

    if (!reason.empty()) {
        throw failure("ERR_H2O_THREAD_LIMIT", "the system gives " + std::to_string(threads.size()) + " of " +
            std::to_string(n) + " more threads: " + reason, {{"wanted", (double) n}, {"given", (double) threads.size()}});
    }
}

} // namespace addon
