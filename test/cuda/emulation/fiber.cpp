// its check of longjmp takes a jump to another stack for an error
#undef _FORTIFY_SOURCE

#include "fiber.h"

#include "fail.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static const size_t STACK_SIZE = 256*1024;

// ucontext makes the stack and takes the first step; setjmp switches from then on, without a system call
struct emu_fiber_state {
    std::function<void()> body;

    char     * stack;
    ucontext_t first;
    jmp_buf    at;
    bool       is_started = false;
};

static emu_fiber_state * current;
static jmp_buf           resumer;

static void enter() {
    current->body();
    EMU_CHECK(false, "a fiber returned");
}

emu_fiber::emu_fiber(std::function<void()> body) : state(new emu_fiber_state) {
    state->body  = std::move(body);
    state->stack = (char *) mmap(
            nullptr, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EMU_CHECK(state->stack != MAP_FAILED, "no memory for a stack");
    mprotect(state->stack, getpagesize(), PROT_NONE); // a stack that is too small faults

    getcontext(&state->first);
    state->first.uc_stack.ss_sp   = state->stack;
    state->first.uc_stack.ss_size = STACK_SIZE;
    makecontext(&state->first, enter, 0);
}

emu_fiber::~emu_fiber() {
    munmap(state->stack, STACK_SIZE);
}

void emu_fiber::resume() {
    current = state.get();

    if (_setjmp(resumer) == 0) {
        if (!current->is_started) {
            current->is_started = true;
            setcontext(&current->first);
        }
        _longjmp(current->at, 1);
    }
}

void emu_fiber::yield() {
    if (_setjmp(current->at) == 0) {
        _longjmp(resumer, 1);
    }
}
