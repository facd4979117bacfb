// Control, and what the lanes of a warp and the warps of a block do together.

#include "warp.h"

#include <algorithm>

namespace ptx {

namespace {

void ret(warp & w, const instr &) {
    w.alive &= ~w.active;
    w.here  &= ~w.active;
}

// shfl.sync.mode.b32 d{|p}, a, b, c, membermask
void shfl(warp & w, const instr & in) {
    const operand * o = in.o.data() + in.n_dst;
    if (!w.meet(w.of_first(o[3]), in)) return;

    uint32_t res[N_LANES] = {}, valid = 0;
    w.each([&](int l) {
        const int b = w.lanes<uint32_t>(o[1])[l] & 31, c = w.lanes<uint32_t>(o[2])[l];
        const int segment = c >> 8 & 31, bound = (l & segment) | (c & 31 & ~segment), lowest = l & segment;
        int from = in.has("up") ? l - b : in.has("down") ? l + b : in.has("bfly") ? l ^ b : lowest | (b & ~segment);
        const bool is_in = in.has("up") ? from >= bound : from <= bound;
        if (!is_in) from = l;
        if (~w.active >> from & 1) fault("a shuffle from a lane that is not there", &in);
        res[l] = w.lanes<uint32_t>(o[0])[from];
        valid |= uint32_t(is_in) << l;
    });
    w.fill<uint32_t>(in.o[0], [&](int l) { return res[l]; });
    if (in.n_dst == 2) w.set_predicate(in.o[1], valid);
}

// vote.sync.{ballot.b32, any.pred, all.pred} d, {!}p, membermask
void vote(warp & w, const instr & in) {
    if (!w.meet(w.of_first(in.o[2]), in)) return;
    const uint32_t yes = w.predicate(in.o[1]) & w.active;
    if (in.t() == type::b32) {
        w.fill<uint32_t>(in.o[0], [&](int) { return yes; });
    } else {
        w.set_predicate(in.o[0], (in.has("any") ? yes != 0 : yes == w.active) ? ALL : 0);
    }
}

// redux.sync.add.{s32, u32} d, a, membermask
void redux(warp & w, const instr & in) {
    if (!w.meet(w.of_first(in.o[2]), in)) return;
    uint32_t sum = 0;
    w.each([&](int l) { sum += w.lanes<uint32_t>(in.o[1])[l]; });
    w.fill<uint32_t>(in.o[0], [&](int) { return sum; });
}

// bar and barrier, of all warps
void bar(warp & w, const instr & in) {
    if (w.meet(ALL, in)) {
        w.state      = warp::AT_BARRIER;
        w.at_barrier = &in;
    }
}

}

bool open_barriers(block & b) {
    warp * first = nullptr;
    for (warp & w : b.warps) {
        if (w.state == warp::AT_BARRIER) first = &w;
    }
    if (!first) return false;

    const bool reduces = first->at_barrier->has("red");
    uint32_t   count   = 0;
    for (warp & w : b.warps) {
        if (w.state == warp::ENDED) continue;
        const instr & in = *w.at_barrier;
        w.active = w.alive;
        if (in.has("red") != reduces || w.of_first(in.o[reduces]) != first->of_first(first->at_barrier->o[reduces])) {
            fault("a barrier that not all reach: others wait at another one", &in);
        }
        if (reduces) count += std::popcount(w.predicate(in.o[2]) & w.alive);
    }
    for (warp & w : b.warps) {
        if (w.state == warp::ENDED) continue;
        w.state = warp::RUNS;
        if (reduces) w.fill<uint32_t>(w.at_barrier->o[0], [&](int) { return count; });
    }
    return true;
}

run_fn find_warp(instr & in) {
    const std::string & b = in.base;
    if (b == "bra") return [](warp & w, const instr & in) { w.branch(in.target); };
    if (b == "ret") return ret;
    if (b == "shfl" && in.has("sync")) return shfl;
    if (b == "vote" && in.has("sync")) return vote;
    if (b == "redux" && in.has("sync") && in.has("add")) return redux;
    if (b == "bar"  && in.has("warp")) return [](warp & w, const instr & in) { w.meet(w.of_first(in.o[0]), in); };
    // a number of threads would be another operand: nothing here waits for part of a block
    const bool is_of_block = b == "bar" || b == "barrier";
    if (is_of_block && in.has("sync") && in.o.size() == 1) return bar;
    if (is_of_block && in.has("red") && in.has("popc") && in.o.size() == 3) return bar;
    return nullptr;
}

} // namespace ptx
