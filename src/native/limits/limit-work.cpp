#include "limit-work.h"

#ifdef _MSC_VER
#include <intrin.h>
#endif

// of the stack, for what runs between two polls
static constexpr size_t n_stack_reserve = 4 << 20;

static uintptr_t stack_here() {
#ifdef _MSC_VER
    return (uintptr_t) _AddressOfReturnAddress();
#else
    return (uintptr_t) __builtin_frame_address(0);
#endif
}

struct limit_work_thread {
    static thread_local limit_work_scope * current;

    static void poll(uint64_t n_units) {
        if (!current) {
            return;
        }
        limit_work & work = current->work;

        if (work.is_aborted && work.is_aborted->load(std::memory_order_relaxed)) {
            throw limit_work_aborted();
        }
        if (n_units > work.n_left) {
            work.n_left = 0;
            throw limit_work_too_long();
        }
        work.n_left -= n_units;

        if (stack_here() < current->stack_end) {
            throw limit_work_too_deep();
        }
    }
};

thread_local limit_work_scope * limit_work_thread::current = nullptr;

limit_work_scope::limit_work_scope(limit_work & work, size_t n_stack) :
    work(work),
    stack_end(n_stack > n_stack_reserve ? stack_here() - (n_stack - n_stack_reserve) : 0),
    outer(limit_work_thread::current) {
    limit_work_thread::current = this;
}

limit_work_scope::~limit_work_scope() {
    limit_work_thread::current = outer;
}

limit_work * limit_work_scope::current() {
    return limit_work_thread::current ? &limit_work_thread::current->work : nullptr;
}

void limit_work_poll(uint64_t n_units) {
    limit_work_thread::poll(n_units);
}
