#include "access.h"

namespace ptx {

access::access(warp & w, const instr & in, const operand & o, int n, intent what, space where) {
    uint64_t at[N_LANES];
    uint64_t all = 0;
    for (int l = 0; l < N_LANES; ++l) at[l] = (o.size == 8 ? w.lanes<uint64_t>(o)[l] : w.lanes<uint32_t>(o)[l]) + o.offset;
    for (int l = 0; l < N_LANES; ++l) all |= w.active >> l & 1 ? at[l] : 0;
    if (all & (n - 1)) fault("an address that is not aligned", &in);

    const block & b     = *w.b;
    const int     first = std::countr_zero(w.active);
    if (where == space::generic) {
        const uint64_t base = at[first] >= LOCAL_GENERIC ? LOCAL_GENERIC : at[first] >= SHARED_GENERIC ? SHARED_GENERIC : 0;
        where = base == LOCAL_GENERIC ? space::local : base ? space::shared : space::global;
        for (int l = 0; l < N_LANES; ++l) {
            at[l] -= base;
            if (w.active >> l & 1 && at[l] >= SHARED_GENERIC) fault("generic addresses of two spaces", &in);
        }
    }
    if (where == space::shared) b.costs->add_shared(at, w.active, n);
    if (where == space::global) b.costs->add_global(at, w.active, n);

    for (int l = first; l < N_LANES;) {
        if (~w.active >> l & 1) { ++l; continue; }
        // lanes beside each other, or at one place
        const uint64_t begin = at[l];
        uint64_t end = begin + n;
        int last = l;
        while (last + 1 < N_LANES && w.active >> (last + 1) & 1 && (at[last + 1] == end || at[last + 1] == end - n) && where != space::local) {
            end = at[++last] + n;
        }
        char * base = nullptr; // where address 0 would be
        const region * r = nullptr;
        switch (where) {
            case space::param:
                if (end > b.p->n_params || what != intent::reads) fault("an address past the parameters", &in);
                base = b.params;
                break;
            case space::local:
                if (end > b.p->n_local) fault("an address past local memory", &in);
                base = w.local.data() + l*b.p->n_local;
                break;
            case space::shared:
                if (begin < SHARED_BEGIN || end > b.shared.size) fault("an address past the block's shared memory", &in);
                r    = &b.shared;
                base = r->begin;
                break;
            default:
                r = find_region(begin);
                if (!r || !r->has(begin, end - begin)) fault("an address where no buffer is", &in);
                if (!r->wrote && what != intent::reads) fault("a constant written", &in);
        }
        if (r && r->wrote && what != intent::updates) {
            const bool is_shared = where == space::shared;
            const size_t offset = is_shared ? begin : begin - (uint64_t) r->begin;
            interval when = w.when;
            if (is_shared) when.launch = when.block; // blocks that ended do not matter
            const char * wrong = what == intent::reads ? note_read (*r, offset, end - begin, when, is_shared)
                                                       : note_write(*r, offset, end - begin, when);
            if (wrong) fault(wrong, &in);
        }
        for (; l <= last; ++l) data[l] = base + at[l];
    }
}

} // namespace ptx
