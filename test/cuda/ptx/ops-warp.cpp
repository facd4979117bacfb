// Control, and what the lanes of a warp and the warps of a block do together.

#include "launch.h"

#include <algorithm>

namespace ptx {

namespace {

void bra(warp & w, const instr & in) { w.branch(in.target); }

void ret(warp & w, const instr &) {
    w.alive &= ~w.active;
    w.here  &= ~w.active;
}

// shfl.sync.mode.b32 d{|p}, a, b, c, membermask
void shfl(warp & w, const instr & in) {
    const operand * o = in.o.data() + in.n_dst;
    const uint32_t members = w.lanes<uint32_t>(o[3])[std::countr_zero(w.active)];
    if (!w.meet(members, in)) return;

    const uint32_t * a = w.lanes<uint32_t>(o[0]);
    uint32_t res[N_LANES];
    uint32_t valid = 0;
    for (int l = 0; l < N_LANES; ++l) {
        if (~w.active >> l & 1) continue;
        const int b = w.lanes<uint32_t>(o[1])[l] & 31, c = w.lanes<uint32_t>(o[2])[l];
        const int segment = c >> 8 & 31, bound = (l & segment) | (c & 31 & ~segment), lowest = l & segment;
        int from = in.has("up") ? l - b : in.has("down") ? l + b : in.has("bfly") ? l ^ b : lowest | (b & ~segment);
        const bool is_in = in.has("up") ? from >= bound : from <= bound;
        if (!is_in) from = l;
        if (~w.active >> from & 1) fault("a shuffle from a lane that is not there", &in);
        res[l] = a[from];
        valid |= uint32_t(is_in) << l;
    }
    w.store(in.o[0], res);
    if (in.n_dst == 2) w.set_predicate(in.o[1], valid);
}

// vote.sync.{ballot.b32, any.pred, all.pred} d, {!}p, membermask
void vote(warp & w, const instr & in) {
    if (!w.meet(w.lanes<uint32_t>(in.o[2])[std::countr_zero(w.active)], in)) return;
    const uint32_t yes = w.predicate(in.o[1]) & w.active;
    if (in.t() == type::pred) {
        w.set_predicate(in.o[0], (in.has("any") ? yes != 0 : yes == w.active) ? ALL : 0);
    } else {
        uint32_t res[N_LANES];
        std::fill_n(res, N_LANES, yes);
        w.store(in.o[0], res);
    }
}

void redux(warp & w, const instr & in) {
    if (!w.meet(w.lanes<uint32_t>(in.o[2])[std::countr_zero(w.active)], in)) return;
    const bool is_signed = in.t() == type::s32;
    uint32_t res[N_LANES];
    uint32_t all = 0;
    bool first = true;
    for (int l = 0; l < N_LANES; ++l) {
        if (~w.active >> l & 1) continue;
        const uint32_t x = w.lanes<uint32_t>(in.o[1])[l];
        const bool below = is_signed ? (int32_t) x < (int32_t) all : x < all;
        all = first ? x : in.has("add") ? all + x : in.has("and") ? all & x : in.has("or") ? all | x : in.has("xor") ? all ^ x :
            in.has("min") == below ? x : all;
        first = false;
    }
    std::fill_n(res, N_LANES, all);
    w.store(in.o[0], res);
}

void activemask(warp & w, const instr & in) {
    uint32_t res[N_LANES];
    std::fill_n(res, N_LANES, w.active);
    w.store(in.o[0], res);
}

void sync_warp(warp & w, const instr & in) { w.meet(w.lanes<uint32_t>(in.o[0])[std::countr_zero(w.active)], in); }

// bar and barrier, of all warps
void bar(warp & w, const instr & in) {
    if (w.meet(ALL, in)) {
        w.state      = warp::AT_BARRIER;
        w.at_barrier = &in;
    }
}

uint32_t value_of(warp & w, const operand & o) { return w.lanes<uint32_t>(o)[std::countr_zero(w.alive)]; }

}

bool open_barriers(block & b) {
    const warp * first = nullptr;
    for (const warp & w : b.warps) {
        if (w.state == warp::AT_BARRIER) first = &w;
    }
    if (!first) return false;

    const bool reduces = first->at_barrier->has("red");
    uint32_t count = 0, any = 0, all = 1;
    for (warp & w : b.warps) {
        if (w.state == warp::ENDED) continue;
        const instr & in = *w.at_barrier;
        if (value_of(w, in.o[reduces]) != value_of(const_cast<warp &>(*first), first->at_barrier->o[reduces]) || in.has("red") != reduces) {
            fault("a barrier that not all reach: others wait at another one", &in);
        }
        if (reduces) {
            const uint32_t p = w.predicate(in.o[2]) & w.alive;
            count += std::popcount(p);
            any |= p != 0;
            all &= p == w.alive;
        }
    }
    for (warp & w : b.warps) {
        if (w.state == warp::ENDED) continue;
        const instr & in = *w.at_barrier;
        w.state  = warp::RUNS;
        w.active = w.alive;
        if (reduces && in.has("popc")) {
            uint32_t res[N_LANES];
            std::fill_n(res, N_LANES, count);
            w.store(in.o[0], res);
        } else if (reduces) {
            w.set_predicate(in.o[0], (in.has("or") ? any : all) ? ALL : 0);
        }
    }
    return true;
}

run_fn find_warp(const instr & in) {
    const std::string & b = in.base;
    if (b == "bra")  return bra;
    if (b == "ret" || b == "exit") return ret;
    if (b == "shfl" && in.has("sync")) return shfl;
    if (b == "vote" && in.has("sync")) return vote;
    if (b == "redux") return redux;
    if (b == "activemask") return activemask;
    if (b == "bar" && in.has("warp")) return sync_warp;
    // a number of threads would be another operand: nothing here waits for part of a block
    if ((b == "bar" || b == "barrier") && in.has("sync") && in.o.size() == 1) return bar;
    if ((b == "bar" || b == "barrier") && in.has("red")  && in.o.size() == 3) return bar;
    return nullptr;
}

} // namespace ptx
