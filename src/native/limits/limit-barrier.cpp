#include "limit-barrier.h"

#if defined(__linux__)

#include <atomic>
#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

// sleepers of all barriers: it spares the system call where nobody sleeps, which is nearly always
static std::atomic<int> n_sleeping{0};

void limit_barrier_sleep(void * passed, int n_passed) {
    n_sleeping.fetch_add(1);
    syscall(SYS_futex, passed, FUTEX_WAIT_PRIVATE, n_passed, nullptr, nullptr, 0);
    n_sleeping.fetch_sub(1);
}

void limit_barrier_wake(void * passed) {
    // *passed has changed before this is read, so whoever is not counted yet will not sleep on the old value
    if (n_sleeping.load() > 0) {
        syscall(SYS_futex, passed, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    }
}

#else

#include <thread>

void limit_barrier_sleep(void * passed, int n_passed) {
    (void) passed;
    (void) n_passed;
    std::this_thread::yield();
}

void limit_barrier_wake(void * passed) {
    (void) passed;
}

#endif
