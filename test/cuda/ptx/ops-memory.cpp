// Loads, stores, addresses and copies in the background.

#include "access.h"

namespace ptx {

namespace {

bool is_signed(type t) { return t == type::s8 || t == type::s16 || t == type::s32; }

// from memory to registers of the same width, or wider ones
template <class T, bool is_load> void move(warp & w, const operand & o, char * const * at, int i) {
    T * d = w.lanes<T>(o);
    for (int l = 0; l < N_LANES; ++l) {
        if (~w.active >> l & 1) continue;
        if (is_load) memcpy(d + l, at[l] + i*sizeof(T), sizeof(T));
        else         memcpy(at[l] + i*sizeof(T), d + l, sizeof(T));
    }
}

template <bool is_load> void transfer(warp & w, const instr & in) {
    const int n = size_of(in.t());
    const access a(w, in, in.o[is_load ? in.n_dst : 0], n*in.n_vec, is_load ? intent::reads : intent::writes);
    char * at[N_LANES];
    for (int l = 0; l < N_LANES; ++l) at[l] = a.at(l);
    for (int i = 0; i < in.n_vec; ++i) {
        const operand & o = in.o[is_load ? i : i + 1];
        if (o.is_bit_bucket) continue;
        if (o.size == n && n == 4) { move<uint32_t, is_load>(w, o, at, i); continue; }
        if (o.size == n && n == 8) { move<uint64_t, is_load>(w, o, at, i); continue; }
        if (o.size == n && n == 2) { move<uint16_t, is_load>(w, o, at, i); continue; }
        for (int l = 0; l < N_LANES; ++l) {
            if (~w.active >> l & 1) continue;
            uint64_t x = is_load ? 0 : w.get(o, l);
            memcpy(is_load ? (char *) &x : at[l] + i*n, is_load ? at[l] + i*n : (char *) &x, n);
            if (is_load && is_signed(in.t())) x = (uint64_t) ((int64_t) (x << (64 - 8*n)) >> (64 - 8*n));
            if (is_load) w.set(o, l, x);
        }
    }
}

template <class T, class F> void exchange(char * data, T b, F f) {
    T old;
    memcpy(&old, data, sizeof(old));
    const T next = f(old, b);
    memcpy(data, &next, sizeof(next));
}

// atom and red; lanes one after the other. No race among themselves, but with plain accesses of others.
void atom(warp & w, const instr & in) {
    const bool has_result = in.base == "atom";
    const access a(w, in, in.o[has_result], size_of(in.t()), intent::updates);
    for (int l = 0; l < N_LANES; ++l) {
        if (~w.active >> l & 1) continue;
        char * data = a.at(l);
        uint64_t old = 0;
        memcpy(&old, data, size_of(in.t()));
        const uint64_t b = w.get(in.o[has_result + 1], l);
        const auto is = [&](modifier op) { return in.has(op); };
        if (in.t() == type::f32 && is("add")) {
            exchange(data, std::bit_cast<float>((uint32_t) b), [](float x, float y) { return x + y; });
        } else if (is_signed(in.t()) && (is("min") || is("max"))) {
            exchange(data, (int32_t) b, [&](int32_t x, int32_t y) { return is("min") ? std::min(x, y) : std::max(x, y); });
        } else {
            const uint64_t c = is("cas") ? w.get(in.o[has_result + 2], l) : 0;
            const uint64_t x = is("add") ? old + b : is("exch") ? b : is("cas") ? (old == b ? c : old) : is("and") ? old & b :
                is("or") ? old | b : is("xor") ? old ^ b : is("min") ? std::min(old, b) : is("max") ? std::max(old, b) : (fault("an atomic that the interpreter does not know", &in), 0);
            memcpy(data, &x, size_of(in.t()));
        }
        if (has_result) w.set(in.o[0], l, old);
    }
}

// to a generic address, or back with .to
void cvta(warp & w, const instr & in) {
    const uint64_t base = in.where == space::shared ? SHARED_GENERIC : in.where == space::local ? LOCAL_GENERIC : 0;
    for (int l = 0; l < N_LANES; ++l) {
        if (w.active >> l & 1) w.set(in.o[0], l, w.get(in.o[1], l) + (in.has("to") ? -base : base));
    }
}

// cp.async.{ca,cg}.shared.global [dst], [src], n {, n_read}: what is not read is zeros
void cp_async(warp & w, const instr & in) {
    const int n = *w.lanes<uint32_t>(in.o[2]);
    const access to(w, in, in.o[0], n, intent::writes, space::shared), from(w, in, in.o[1], n, intent::reads, space::global);
    for (int l = 0; l < N_LANES; ++l) {
        if (~w.active >> l & 1) continue;
        copy c = { size_t(to.at(l) - w.b->shared.begin), n, {} };
        memcpy(c.bytes, from.at(l), in.n_vec > 1 ? std::min<int>(n, w.lanes<uint32_t>(in.o[3])[l]) : n);
        std::fill_n(w.b->shared.wrote + c.to, n, PENDING);
        w.copies.push_back(c);
    }
}

// all groups but the latest n_left are there
void land(warp & w, int n_left, bool all) {
    std::erase_if(w.copies, [&](const copy & c) {
        if (!all && !(c.is_committed && c.group < w.n_commits - n_left)) return false;
        memcpy(w.b->shared.begin + c.to, c.bytes, c.n);
        std::fill_n(w.b->shared.wrote + c.to, c.n, w.when.mine);
        return true;
    });
}

void commit(warp & w, const instr &) {
    for (copy & c : w.copies) {
        if (!c.is_committed) c.is_committed = true, c.group = w.n_commits;
    }
    w.n_commits++;
}

}

run_fn find_memory(const instr & in_const) {
    instr & in = const_cast<instr &>(in_const); // what the search finds out stays with it
    in.where = in.has("global") || in.has("const") ? space::global : in.has("shared") || in.has("shared::cta") ? space::shared :
        in.has("local") ? space::local : in.has("param") ? space::param : space::generic;

    if (in.base == "ld" && in.n_dst > 0) return transfer<true>;
    if (in.base == "st" && !in.o.empty()) return transfer<false>;
    if (in.base == "atom" || in.base == "red") return atom;
    if (in.base == "cvta") return cvta;
    if (in.base == "prefetch" || in.base == "membar" || in.base == "fence") return [](warp &, const instr &) {};
    if (in.base == "cp" && in.has("async")) {
        if (in.has("wait_all"))     return [](warp & w, const instr &) { land(w, 0, true); };
        if (in.has("commit_group")) return commit;
        if (in.has("wait_group"))   return [](warp & w, const instr & in) { land(w, *w.lanes<uint32_t>(in.o[0]), false); };
        if (in.o.size() >= 3) {
            in.n_vec = in.o.size() > 3 ? 2 : 1;
            return cp_async;
        }
    }
    return nullptr;
}

} // namespace ptx
