#include "block.h"

#include "fail.h"
#include "fiber.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

static const size_t SLOT_SIZE = 64; // the most that a thread brings to an exchange
static const size_t COPY_SIZE = 16; // of cp.async
static const int    MAX_TURN  = 64; // runs of a warp before another one's turn

enum thread_state { RUNS, AT_BARRIER, AT_EXCHANGE, ENDED };

struct thread {
    dim3                  idx;
    thread_state          state;
    std::vector<emu_copy> copies;
};

// two buffers: the last lane may still read one exchange when the first one brings something to the next
struct warp {
    alignas(16) char slots[2][EMU_WARP_SIZE*SLOT_SIZE];

    int n_arrived;
    int i_buffer;
};

struct barrier {
    int n_arrived;
    int n_true;
    int n_true_last[2];
    int i_last;
};

dim3 emu_block_idx;
dim3 emu_block_dim;
dim3 emu_grid_dim;

static const std::function<void()> * body;

static std::vector<std::unique_ptr<emu_fiber>> fibers; // kept from block to block

static std::vector<thread> threads;
static std::vector<warp>   warps;
static barrier             block_barrier;
static int                 n_alive;
static int                 current;
static std::mt19937        order_rng(1);

dim3 emu_thread_idx() { return threads[current].idx; }
int  emu_lane()       { return current % EMU_WARP_SIZE; }

void emu_seed(uint32_t seed) { order_rng.seed(seed); }

static void wake(int begin, int end, thread_state from) {
    for (int i = begin; i < end; ++i) {
        if (threads[i].state == from) {
            threads[i].state = RUNS;
        }
    }
}

static void wait_at(thread_state state) {
    threads[current].state = state;
    emu_fiber::yield();
}

// threads that have ended are not waited for
static bool open_barrier_if_all_there() {
    barrier & b = block_barrier;
    if (b.n_arrived < n_alive) {
        return false;
    }
    b.i_last = 1 - b.i_last;
    b.n_true_last[b.i_last] = b.n_true;
    b.n_arrived = 0;
    b.n_true    = 0;
    wake(0, threads.size(), AT_BARRIER);
    return true;
}

int emu_barrier(bool predicate) {
    barrier & b = block_barrier;
    const int i = 1 - b.i_last;

    b.n_arrived++;
    b.n_true += predicate;
    if (!open_barrier_if_all_there()) {
        wait_at(AT_BARRIER);
    }
    return b.n_true_last[i];
}

const void * emu_exchange(const void * mine, size_t size) {
    warp & w = warps[current/EMU_WARP_SIZE];

    EMU_CHECK(size <= SLOT_SIZE, "an exchange of more than a slot holds");

    char * slots = w.slots[w.i_buffer];
    memcpy(slots + emu_lane()*size, mine, size);

    if (++w.n_arrived == EMU_WARP_SIZE) {
        const int first = current - emu_lane();

        w.n_arrived = 0;
        w.i_buffer  = 1 - w.i_buffer;
        wake(first, first + EMU_WARP_SIZE, AT_EXCHANGE);
    } else {
        wait_at(AT_EXCHANGE);
    }
    return slots;
}

void emu_copy_async(void * dst, const void * src) {
    EMU_CHECK((uintptr_t) dst % COPY_SIZE == 0 && (uintptr_t) src % COPY_SIZE == 0, "cp.async of what is not aligned");
    memset(dst, 0xff, COPY_SIZE);
    threads[current].copies.push_back({ dst, src });
}

void emu_copy_wait() {
    for (const emu_copy & copy : threads[current].copies) {
        memcpy(copy.dst, copy.src, COPY_SIZE);
    }
    threads[current].copies.clear();
}

static void run_thread() {
    for (;;) { // once per block
        (*body)();

        EMU_CHECK(threads[current].copies.empty(), "a thread ended before its copies were there");
        n_alive--;
        if (block_barrier.n_arrived > 0) {
            open_barrier_if_all_there();
        }
        wait_at(ENDED);
    }
}

static void begin_block(int n_threads) {
    EMU_CHECK(n_threads % EMU_WARP_SIZE == 0, "a block that is no whole number of warps");

    while ((int) fibers.size() < n_threads) {
        fibers.emplace_back(new emu_fiber(run_thread));
    }

    threads.assign(n_threads, {});
    warps.assign(n_threads/EMU_WARP_SIZE, {});
    block_barrier = {};
    n_alive       = n_threads;

    const dim3 & dim = emu_block_dim;
    for (int i = 0; i < n_threads; ++i) {
        threads[i].idx   = dim3(i%dim.x, i/dim.x%dim.y, i/(dim.x*dim.y));
        threads[i].state = RUNS;
    }
}

// every thread of the warp that can, up to where it waits. -> whether there was one
static bool run_warp(int iw) {
    bool any = false;
    for (current = iw*EMU_WARP_SIZE; current < (iw + 1)*EMU_WARP_SIZE; ++current) {
        if (threads[current].state == RUNS) {
            any = true;
            fibers[current]->resume();
        }
    }
    return any;
}

void emu_run_block(const std::function<void()> & kernel) {
    body = &kernel;
    begin_block(emu_block_dim.x*emu_block_dim.y*emu_block_dim.z);

    std::vector<int> order(warps.size());
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }

    while (n_alive > 0) {
        std::shuffle(order.begin(), order.end(), order_rng);

        bool any = false;
        for (int iw : order) {
            const int n_turn = 1 + order_rng() % MAX_TURN;
            for (int i = 0; i < n_turn && run_warp(iw); ++i) {
                any = true;
            }
        }
        EMU_CHECK(any, "deadlock: some threads wait where others never come");
    }
}
