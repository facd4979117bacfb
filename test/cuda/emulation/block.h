// The threads of one block: each is a fiber, and they meet at barriers and, 32 of them, at the instructions of a warp.
// Between such places warps get their turns in random order, so that a barrier that is missing shows.

#pragma once

#include <vector_types.h>

#include <cstddef>
#include <cstdint>
#include <functional>

#define EMU_WARP_SIZE 32

struct emu_copy {
    void       * dst;
    const void * src;
};

// of the thread that runs
dim3 emu_thread_idx();
int  emu_lane();

// of the block that runs
extern dim3 emu_block_idx;
extern dim3 emu_block_dim;
extern dim3 emu_grid_dim;

// the order of the warps from here on
void emu_seed(uint32_t seed);

// all threads of a block, to their ends
void emu_run_block(const std::function<void()> & kernel);

// Waits for all threads of the block that have not ended. -> for how many of them the predicate holds
int emu_barrier(bool predicate);

// Waits for the 32 threads of the warp. -> what each of them brought, until the warp's next exchange but one
const void * emu_exchange(const void * mine, size_t size);

template <typename T>
const T * emu_exchange(const T & mine) {
    return (const T *) emu_exchange(&mine, sizeof(T));
}

// what a thread has asked to be copied is not there before it waits for it
void emu_copy_async(void * dst, const void * src);
void emu_copy_wait();
