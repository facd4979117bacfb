// Loads, stores, addresses and copies in the background.

#include "access.h"

namespace ptx {

namespace {

// of numbers of that type
template <class T, bool is_load> void transfer(warp & w, const instr & in) {
    const access a(w, in, in.o[is_load ? in.n_dst : 0], sizeof(T)*in.n_vec, is_load ? intent::reads : intent::writes, in.where);
    for (int i = 0; i < in.n_vec; ++i) {
        const operand & o = in.o[is_load ? i : i + 1];
        if (o.is_bit_bucket) continue;
        w.each([&](int l) {
            char * at = a.at(l) + i*sizeof(T);
            T x = is_load ? T() : w.get<T>(o, l);
            memcpy(is_load ? (char *) &x : at, is_load ? at : (char *) &x, sizeof(T));
            if (is_load) w.set(o, l, x); // extended
        });
    }
}

// atom and red; lanes one after the other. No race among themselves, but with plain accesses of others.
template <class T> void atom(warp & w, const instr & in) {
    const operand * o = in.o.data() + (in.base == "atom");
    const access a(w, in, o[0], sizeof(T), intent::updates, in.where);
    w.each([&](int l) {
        T x, b = w.lanes<T>(o[1])[l];
        memcpy(&x, a.at(l), sizeof(T));
        if (in.base == "atom") w.lanes<T>(in.o[0])[l] = x;
        x = in.has("add") ? T(x + b) : in.has("exch") ? b : in.has("min") ? std::min(x, b) : in.has("max") ? std::max(x, b) :
            x == b ? w.lanes<T>(o[2])[l] : x; // cas
        memcpy(a.at(l), &x, sizeof(T));
    });
}

// to a generic address, or back with .to
void cvta(warp & w, const instr & in) {
    const uint64_t base = in.where == space::shared ? SHARED_GENERIC : in.where == space::local ? LOCAL_GENERIC : 0;
    w.each([&](int l) { w.set(in.o[0], l, w.get(in.o[1], l) + (in.has("to") ? -base : base)); });
}

// cp.async.{ca,cg}.shared.global [dst], [src], n {, n_read}: what is not read is zeros
void cp_async(warp & w, const instr & in) {
    const int n = *w.lanes<uint32_t>(in.o[2]);
    const access to(w, in, in.o[0], n, intent::writes, space::shared), from(w, in, in.o[1], n, intent::reads, space::global);
    w.each([&](int l) {
        copy c = { size_t(to.at(l) - w.b->shared.begin), n, {} };
        memcpy(c.bytes, from.at(l), in.n_vec > 1 ? std::min<int>(n, w.lanes<uint32_t>(in.o[3])[l]) : n);
        std::fill_n(w.b->shared.wrote + c.to, n, PENDING);
        w.copies.push_back(c);
    });
}

void wait_for_copies(warp & w, const instr &) {
    for (const copy & c : w.copies) {
        memcpy(w.b->shared.begin + c.to, c.bytes, c.n);
        std::fill_n(w.b->shared.wrote + c.to, c.n, w.when.mine);
    }
    w.copies.clear();
}

}

run_fn find_memory(instr & in) {
    in.where = in.has_any({ "global", "const" }) ? space::global : in.has_any({ "shared", "shared::cta" }) ? space::shared :
        in.has("local") ? space::local : in.has("param") ? space::param : space::generic;

    const auto of_integer_or_bits = [&](auto f) {
        const run_fn res = with_integer(in.t(), f);
        return res ? res : with_bits(in.t(), f);
    };
    if (in.base == "ld" && in.n_dst > 0)  return of_integer_or_bits([]<class T>(T) -> run_fn { return transfer<T, true>; });
    if (in.base == "st" && !in.o.empty()) return of_integer_or_bits([]<class T>(T) -> run_fn { return transfer<T, false>; });
    if (in.base == "cvta") return cvta;
    if ((in.base == "atom" || in.base == "red") && in.has_any({ "add", "exch", "min", "max", "cas" })) {
        return with_type(in.t(), []<class T>(T) -> run_fn {
            if constexpr (sizeof(T) >= 4) return atom<T>; else return nullptr;
        });
    }
    if (in.base == "cp" && in.has("async")) {
        in.n_vec = in.o.size() > 3 ? 2 : 1;
        return in.has("wait_all") ? wait_for_copies : in.o.size() >= 3 ? cp_async : nullptr;
    }
    return nullptr;
}

} // namespace ptx
