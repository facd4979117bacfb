// Memory that says who wrote and who read a byte last, so that a race shows: two accesses, one of them a write, that no
// barrier and no end of a launch puts in order.
//
// Every warp has a number of its own for each interval between two barriers; numbers only grow, over all launches.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ptx {

// addresses of shared memory, in its own space and as generic ones; nothing lies at 0
constexpr uint64_t SHARED_BEGIN   = 1024;
constexpr uint64_t SHARED_GENERIC = 1ull << 60;
constexpr uint64_t LOCAL_GENERIC  = 1ull << 61;

struct interval {
    uint32_t launch = 0; // the first number of this launch
    uint32_t block  = 0; // of this block
    uint32_t first  = 0; // of this interval
    uint32_t mine   = 0;
};

constexpr uint32_t MANY    = 1u << 31; // readers that no barrier puts in order
constexpr uint32_t FOREIGN = 1u << 30; // one of them of another block
constexpr uint32_t PENDING = ~0u;      // cp.async has not been waited for

struct region {
    char   * begin = nullptr;
    size_t   size  = 0;

    // a number per byte
    uint32_t * wrote = nullptr;
    uint32_t * read  = nullptr;

    bool has(uint64_t address, size_t n) const {
        return address >= (uint64_t) begin && address - (uint64_t) begin + n <= size;
    }
};

// nullptr, or what is wrong with it; shared memory holds nothing before somebody of the block wrote it
const char * note_read (const region & r, size_t at, size_t n, interval i, bool is_shared);
const char * note_write(const region & r, size_t at, size_t n, interval i);

// device memory as the runtime allots it
void           add_region   (void * begin, size_t size);
void           add_constant (void * begin, size_t size); // of a module: read, never written
void           remove_region(void * begin);
const region * find_region  (uint64_t address); // null: none

region with_numbers(char * begin, size_t size); // none of them written or read

} // namespace ptx
