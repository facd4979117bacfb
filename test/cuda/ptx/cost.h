// What a kernel's launches took, counted by warp: instructions by kind, and how its accesses fall on the banks of shared
// memory and the sectors of 32 bytes that memory is read and written by.

#pragma once

#include "program.h"

#include <array>

namespace ptx {

struct cost {
    std::array<uint64_t, N_KINDS> n{}; // instructions

    uint64_t shared_cycles = 0, shared_ideal = 0; // of accesses to shared memory, and if no two lanes met in a bank
    uint64_t sectors = 0, sectors_ideal = 0;      // of device memory, and if what lanes ask for were dense
    uint64_t flop = 0;                            // of matrix products
    uint64_t n_launches = 0;

    // n bytes at each active lane's address
    void add_shared(const uint64_t (&address)[32], uint32_t active, int n);
    void add_global(const uint64_t (&address)[32], uint32_t active, int n);
};

} // namespace ptx
