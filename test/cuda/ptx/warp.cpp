#include "warp.h"

#include <algorithm>

namespace ptx {

static const int NOWHERE = 1 << 30;

void warp::leave(int at, uint32_t lanes, bool waits) {
    group & g = others[at];
    g.waits = waits && g.lanes == 0; // those that waited may now be all
    g.lanes |= lanes;
}

void warp::branch(int target) {
    const uint32_t stay = here & ~active;
    if (stay == 0) {
        pc = target;
    } else if (active != 0) {
        leave(target, active);
        here = stay;
    }
    if (!others.empty()) regroup();
}

void warp::regroup() {
    if (here != 0) leave(pc, here);
    here = 0;
    next = NOWHERE;
    if (others.empty()) return;

    const auto lowest = std::find_if(others.begin(), others.end(), [](const auto & g) { return !g.second.waits; });
    if (lowest == others.end()) {
        fault("lanes wait for others of their warp that wait elsewhere", &b->p->code[others.begin()->first]);
    }
    pc   = lowest->first;
    here = lowest->second.lanes;
    const auto after = others.erase(lowest);
    next = after == others.end() ? NOWHERE : after->first;
}

bool warp::meet(uint32_t lanes, const instr & in) {
    if (active & ~lanes) fault("a lane that its own mask does not name", &in);
    const uint32_t needed = lanes & alive;
    if (needed & here & ~active) fault("a lane that the mask names passes by", &in);
    if ((needed & ~here) == 0) return true;
    leave(pc - 1, here, true);
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

} // namespace ptx
