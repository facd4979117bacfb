#include "warp.h"

#include <algorithm>

namespace ptx {

static const int NOWHERE = 1 << 30;

void warp::branch(int target) {
    const uint32_t stay = here & ~active;
    if (stay == 0) {
        pc = target;
    } else if (active != 0) {
        others.push_back({ target, active });
        here = stay;
    }
    if (!others.empty()) regroup();
}

void warp::regroup() {
    if (here != 0) others.push_back({ pc, here });
    std::sort(others.begin(), others.end(), [](const group & a, const group & b) { return a.pc < b.pc; });
    for (size_t i = 1; i < others.size();) {
        if (others[i].pc == others[i - 1].pc) { // those that waited may now be all
            others[i - 1] = { others[i].pc, others[i].lanes | others[i - 1].lanes };
            others.erase(others.begin() + i);
        } else {
            ++i;
        }
    }
    here = 0;
    next = NOWHERE;
    if (others.empty()) return;

    const auto lowest = std::find_if(others.begin(), others.end(), [](const group & g) { return !g.waits; });
    if (lowest == others.end()) {
        fault("lanes wait for others of their warp that wait elsewhere", &b->p->code[others[0].pc]);
    }
    pc   = lowest->pc;
    here = lowest->lanes;
    const auto after = others.erase(lowest);
    next = after == others.end() ? NOWHERE : after->pc;
}

bool warp::meet(uint32_t lanes, const instr & in) {
    if (active & ~lanes) fault("a lane that its own mask does not name", &in);
    const uint32_t needed = lanes & alive;
    if (needed & here & ~active) fault("a lane that the mask names passes by", &in);
    if ((needed & ~here) == 0) return true;
    others.push_back({ pc - 1, here, true });
    here = 0;
    return false;
}

void warp::run() {
    const instr * code = b->p->code.data();
    const int     n    = b->p->code.size();
    while (state == RUNS) {
        if (here == 0 || pc >= next) regroup();
        if (here == 0) {
            state = ENDED;
            break;
        }
        if (pc >= n) { // the end of the kernel's text
            alive &= ~here;
            here   = 0;
            continue;
        }
        const instr & in = code[pc++];
        active = in.is_guarded ? here & predicate(in.guard) : here;
        b->costs->n[(int) in.cost]++;
        if (active != 0 || in.cost == kind::control) in.run(*this, in);
    }
    if (state == ENDED && !copies.empty()) fault("a warp ended before its copies were there");
}

void set_comparison(warp & w, const instr & in, uint32_t p) {
    const int first = in.n_dst; // p or p|q
    uint32_t q = ~p;
    if (in.has("and") || in.has("or") || in.has("xor")) {
        const uint32_t c = w.predicate(in.o[first + 2]);
        const auto with = [&](uint32_t x) { return in.has("and") ? x & c : in.has("or") ? x | c : x ^ c; };
        p = with(p);
        q = with(q);
    }
    w.set_predicate(in.o[0], p);
    if (first == 2) w.set_predicate(in.o[1], q);
}

} // namespace ptx
