// What kernel<<<grid, block, n_dynamic, stream>>>(...) does, written emu_launch(&kernel, grid, block, n_dynamic,
// stream, call) by build.ts: one block after the other, each with shared memory that holds nothing.

#pragma once

#include <driver_types.h>
#include <vector_types.h>

#include <cstddef>
#include <functional>

// what the launchers are told of the device; cc as ggml counts it: 860
struct emu_device {
    int    cc;
    int    nsm;   // multiprocessors
    size_t smpbo; // the most shared memory that a block can have
};

extern emu_device emu_current_device;

// cudaFuncSetAttribute; without it a launch gets 48 KiB of dynamic shared memory at most
void emu_allow_dynamic(const void * kernel, size_t n_dynamic);

void emu_launch(
        const void * kernel, dim3 grid, dim3 block, size_t n_dynamic, cudaStream_t stream, const std::function<void()> & call);

// so far
int emu_n_launches();
