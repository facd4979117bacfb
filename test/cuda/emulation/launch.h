// What kernel<<<grid, block, n_dynamic>>>() does: one block after the other, each with shared memory that holds nothing.

#pragma once

#include "block.h"
#include "device-memory.h"

#include "fail.h"

#include <functional>

static inline void emu_launch(
        dim3 grid, dim3 block, void * dynamic, size_t n_dynamic, const std::function<void()> & kernel) {
    EMU_CHECK(n_dynamic <= EMU_DYNAMIC_SIZE, "a launch with more shared memory than there is");

    emu_grid_dim  = grid;
    emu_block_dim = block;

    for (unsigned z = 0; z < grid.z; ++z) {
        for (unsigned y = 0; y < grid.y; ++y) {
            for (unsigned x = 0; x < grid.x; ++x) {
                emu_block_idx = dim3(x, y, z);
                emu_fill_shared();
                emu_run_block(kernel);
                if (dynamic) {
                    emu_check_dynamic(dynamic, n_dynamic);
                }
            }
        }
    }
}
