#include "launch.h"

#include "block.h"
#include "device-memory.h"
#include "fail.h"

#include <map>

emu_device emu_current_device = { 860, 16, 99*1024 };

static std::map<const void *, size_t> allowed;
static int n_launches;

void emu_allow_dynamic(const void * kernel, size_t n_dynamic) {
    EMU_CHECK(n_dynamic <= emu_current_device.smpbo, "more shared memory allowed than the device has");
    allowed[kernel] = n_dynamic;
}

void emu_launch(
        const void * kernel, dim3 grid, dim3 block, size_t n_dynamic, cudaStream_t, const std::function<void()> & call) {
    const size_t n_default = 48*1024;

    EMU_CHECK(n_dynamic <= std::max(n_default, allowed[kernel]), "a launch with more shared memory than it is allowed");
    EMU_CHECK(grid.x > 0 && grid.y > 0 && grid.z > 0, "an empty grid");
    EMU_CHECK(grid.x <= 0x7fffffff && grid.y <= 0xffff && grid.z <= 0xffff, "a grid that no device takes");
    EMU_CHECK(block.x*block.y*block.z <= 1024, "a block of more than 1024 threads");

    n_launches++;

    emu_grid_dim  = grid;
    emu_block_dim = block;

    const emu_shared_memory shared;

    for (unsigned z = 0; z < grid.z; ++z) {
        for (unsigned y = 0; y < grid.y; ++y) {
            for (unsigned x = 0; x < grid.x; ++x) {
                emu_block_idx = dim3(x, y, z);
                shared.clear();
                emu_run_block(call);
                shared.check_dynamic(n_dynamic);
            }
        }
    }
}

int emu_n_launches() {
    return n_launches;
}
