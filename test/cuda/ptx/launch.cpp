#include "warp.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace ptx {

static std::mt19937 order; // of blocks, and of warps between barriers: none may change a result
static uint32_t     n_intervals = 1;

static void begin_interval(block & b) {
    const uint32_t first = n_intervals;
    n_intervals += b.warps.size();
    if (n_intervals >= FOREIGN) fault("more intervals than there are numbers");
    for (warp & w : b.warps) {
        w.when.first = first;
        w.when.mine  = first + w.index;
    }
}

// the i-th of a box
static dim place_in(const dim & box, unsigned i) { return { i%box.x, i/box.x%box.y, i/box.x/box.y }; }

static void fill_specials(block & b, warp & w) {
    for (unsigned l = 0; l < N_LANES; ++l) {
        const dim      tid      = place_in(b.size, w.index*N_LANES + l);
        const unsigned values[] = { tid.x, tid.y, tid.z, b.size.x, b.size.y, b.size.z, b.at.x, b.at.y, b.at.z, b.grid.x, b.grid.y,
            b.grid.z, l, (unsigned) w.index, (1u << l) - 1, (unsigned) b.n_dynamic }; // as SPECIALS
        for (const auto & [special, at] : b.p->specials) ((uint32_t *) (w.regs + at))[l] = values[special];
    }
}

static void run_block(block & b) {
    const unsigned n_threads = b.size.x*b.size.y*b.size.z;
    const uint32_t first     = n_intervals;
    for (warp & w : b.warps) {
        const unsigned n_lanes = std::min<unsigned>(N_LANES, n_threads - w.index*N_LANES);
        w.state = warp::RUNS;
        w.pc    = 0;
        w.next  = 1 << 30;
        w.alive = w.here = n_lanes == N_LANES ? ALL : (1u << n_lanes) - 1;
        w.when.block = first;
        fill_specials(b, w);
    }
    begin_interval(b);

    std::vector<warp *> turns;
    for (warp & w : b.warps) turns.push_back(&w);
    do {
        std::shuffle(turns.begin(), turns.end(), order);
        for (warp * w : turns) w->run();
        if (open_barriers(b)) begin_interval(b);
    } while (std::any_of(turns.begin(), turns.end(), [](const warp * w) { return w->state != warp::ENDED; }));
}

void launch(const program & p, dim grid, dim size, size_t n_dynamic, void ** args, cost & costs) {
    if ((int) (size.x*size.y*size.z) > p.max_threads) fault("more threads than the kernel's launch bounds");
    const uint32_t first = n_intervals;

    std::vector<char> params(p.n_params + 16);
    for (size_t i = 0; i < p.params.size(); ++i) memcpy(params.data() + p.params[i].first, args[i], p.params[i].second);

    block b = { &p, grid, size, {}, n_dynamic, params.data(), {}, &costs, {} };

    constexpr size_t n_most = 256*1024;
    static const region shared = with_numbers(new char[n_most], n_most); // they only grow: what is left there is of a block before
    b.shared      = shared;
    b.shared.size = SHARED_BEGIN + (p.n_shared + 127)/128*128 + n_dynamic;

    struct alignas(64) line { char bytes[64]; };
    static std::vector<line> registers;
    const size_t n_lines = (p.n_registers + 63)/64;
    b.warps.resize((size.x*size.y*size.z + N_LANES - 1)/N_LANES);
    registers.resize(std::max(registers.size(), b.warps.size()*n_lines));
    for (size_t i = 0; i < b.warps.size(); ++i) {
        warp & w = b.warps[i];
        w.b     = &b;
        w.index = i;
        w.regs  = registers[i*n_lines].bytes;
        w.local.resize(p.n_local*N_LANES);
        w.when.launch = first;
        for (const literal & l : p.literals) {
            for (int lane = 0; lane < N_LANES; ++lane) memcpy(w.regs + l.at + lane*l.size, &l.value, l.size);
        }
    }
    costs.n_launches++;

    std::vector<uint32_t> blocks((size_t) grid.x*grid.y*grid.z);
    std::iota(blocks.begin(), blocks.end(), 0);
    std::shuffle(blocks.begin(), blocks.end(), order);
    for (const uint32_t i : blocks) {
        b.at = place_in(grid, i);
        try {
            run_block(b);
        } catch (const device_fault & f) {
            std::fill_n(shared.wrote, b.shared.size, 0); // copies that were on their way
            throw device_fault(std::string(f.what()) + " (kernel " + p.name + ", block " + std::to_string(b.at.x) + " " +
                    std::to_string(b.at.y) + " " + std::to_string(b.at.z) + ")");
        }
    }
}

} // namespace ptx
