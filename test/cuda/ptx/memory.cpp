#include "memory.h"

#include <sys/mman.h>

#include <map>

namespace ptx {

// Numbers of a block lie between those of the blocks before and after it. All without branches: a compiler then does
// many bytes at once.
static bool is_before(uint32_t e, const interval & i) { return (e < i.launch) | ((e >= i.block) & (e < i.first)); }

const char * note_read(const region & r, size_t at, size_t n, const interval i, bool is_shared) {
    const uint32_t * wrote = r.wrote + at;
    uint32_t       * read  = r.read  + at;
    uint32_t bad = 0, unwritten = 0;
    for (size_t k = 0; k < n; ++k) {
        const uint32_t w = wrote[k], last = read[k], e = last & ~(MANY | FOREIGN);
        bad       |= !is_before(w, i) & (w != i.mine);
        unwritten |= w < i.block;

        const bool     replaces = is_before(e, i) | (last == i.mine);
        const uint32_t latest   = (e > i.mine ? e : i.mine) | MANY;
        const uint32_t foreign  = (((last & FOREIGN) != 0) | (e < i.block)) & (e >= i.launch) ? FOREIGN : 0;
        read[k] = (replaces ? i.mine : latest) | foreign;
    }
    if (is_shared && unwritten) return "shared memory that nobody wrote";
    return bad ? "a race: read while another warp writes it, or before cp.async was waited for" : nullptr;
}

const char * note_write(const region & r, size_t at, size_t n, const interval i) {
    uint32_t       * wrote = r.wrote + at;
    const uint32_t * read  = r.read  + at;
    uint32_t bad = 0;
    for (size_t k = 0; k < n; ++k) {
        const uint32_t w = wrote[k], last = read[k], e = last & ~(MANY | FOREIGN);
        bad |= !is_before(w, i) & (w != i.mine);
        bad |= !is_before(e, i) & (last != i.mine);
        bad |= ((last & FOREIGN) != 0) & (e >= i.launch);
        wrote[k] = i.mine;
    }
    return bad ? "a race: written while another warp reads or writes it" : nullptr;
}

static std::map<uint64_t, region> regions;
static const region *             latest; // looked up

region with_numbers(char * begin, size_t size) {
    void * zeros = mmap(nullptr, 2*size*sizeof(uint32_t) + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return { begin, size, (uint32_t *) zeros, (uint32_t *) zeros + size };
}

void add_constant(void * begin, size_t size) {
    regions[(uint64_t) begin] = { (char *) begin, size };
}

void add_region(void * begin, size_t size) {
    regions[(uint64_t) begin] = with_numbers((char *) begin, size);
}

void remove_region(void * begin) {
    const auto it = regions.find((uint64_t) begin);
    if (it != regions.end()) {
        munmap(it->second.wrote, 2*it->second.size*sizeof(uint32_t) + 1);
        regions.erase(it);
        latest = nullptr;
    }
}

const region * find_region(uint64_t address) {
    if (!latest || !latest->has(address, 1)) {
        const auto it = regions.upper_bound(address);
        latest = it == regions.begin() ? nullptr : &std::prev(it)->second;
    }
    return latest;
}

} // namespace ptx
