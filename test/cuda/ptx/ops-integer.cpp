// Integer, logic and comparison instructions, and the copies between registers.

#include "warp.h"

namespace ptx {

namespace {

// products of twice the width
template <class T> using wide = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
        std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;
template <class T> using bits_of = std::make_unsigned_t<T>;

// the last one names start, the one before it has what goes in
template <class T> void bfi(warp & w, const instr & in) {
    w.fill<T>(in.o[0], [&](int l) {
        const T a = w.lanes<T>(in.o[1])[l], b = w.lanes<T>(in.o[2])[l];
        const unsigned at = w.lanes<uint32_t>(in.o[3])[l] & 0xff, n = w.lanes<uint32_t>(in.o[4])[l] & 0xff;
        if (at >= 8*sizeof(T)) return b;
        const T field = n >= 8*sizeof(T) ? T(-1) : T((T(1) << n) - 1);
        return T((b & ~(field << at)) | (a & field) << at);
    });
}

// sign or zeros above the field, as the type says
template <class T> void bfe(warp & w, const instr & in) {
    w.fill<T>(in.o[0], [&](int l) {
        const unsigned at = w.lanes<uint32_t>(in.o[2])[l] & 0xff, n = w.lanes<uint32_t>(in.o[3])[l] & 0xff;
        const auto x = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>(w.lanes<T>(in.o[1])[l]) >> std::min(at, 64u);
        const int above = 128 - std::min(n, 64u);
        return n == 0 ? T(0) : T(x << above >> above);
    });
}

template <class T> void selp(warp & w, const instr & in) {
    const uint32_t p = w.predicate(in.o[3]);
    w.fill<T>(in.o[0], [&](int l) { return w.lanes<T>(in.o[p >> l & 1 ? 1 : 2])[l]; });
}

void prmt(warp & w, const instr & in) { // default mode
    w.fill<uint32_t>(in.o[0], [&](int l) {
        const uint64_t both = w.lanes<uint32_t>(in.o[1])[l] | (uint64_t) w.lanes<uint32_t>(in.o[2])[l] << 32;
        uint32_t res = 0;
        for (int i = 0; i < 4; ++i) {
            const uint32_t pick = w.lanes<uint32_t>(in.o[3])[l] >> 4*i;
            const uint8_t  byte = both >> 8*(pick & 7);
            res |= uint32_t(pick & 8 ? uint8_t(int8_t(byte) >> 7) : byte) << 8*i;
        }
        return res;
    });
}

void dp4a(warp & w, const instr & in) {
    w.fill<uint32_t>(in.o[0], [&](int l) {
        uint32_t sum = w.lanes<uint32_t>(in.o[3])[l];
        for (int i = 4*l; i < 4*l + 4; ++i) sum += w.lanes<int8_t>(in.o[1])[i]*w.lanes<int8_t>(in.o[2])[i];
        return sum;
    });
}

// words with the lower or the upper two bytes
void dp2a(warp & w, const instr & in) {
    w.fill<uint32_t>(in.o[0], [&](int l) {
        uint32_t sum = w.lanes<uint32_t>(in.o[3])[l];
        for (int i = 0; i < 2; ++i) {
            sum += w.lanes<int16_t>(in.o[1])[2*l + i]*w.lanes<int8_t>(in.o[2])[4*l + 2*in.has("hi") + i];
        }
        return sum;
    });
}

// mov of a vector to a register, or of a register to one
void pack(warp & w, const instr & in) {
    w.each([&](int l) {
        uint64_t all = 0;
        for (int i = in.n_vec; i-- > 0;) all = all << (8*size_of(in.t())/in.n_vec)%64 | w.get(in.o[in.n_dst + i], l);
        for (int i = 0; i < in.n_dst; all >>= 8*in.o[i++].size) {
            if (!in.o[i].is_bit_bucket) w.set(in.o[i], l, all);
        }
    });
}

template <auto F> void logic(warp & w, const instr & in) {
    w.set_predicate(in.o[0], F(w.predicate(in.o[1]), w.predicate(in.o[2]), 0));
}

// p|q, combined with a third predicate if there is one
template <class T> void setp(warp & w, const instr & in) {
    const operand * o = in.o.data() + in.n_dst;
    uint32_t p = 0;
    for (int l = 0; l < N_LANES; ++l) {
        T a = w.lanes<T>(o[0])[l], b = w.lanes<T>(o[1])[l];
        if (std::is_same_v<T, float> && in.has("ftz")) a = flush(a), b = flush(b);
        const int relation = a < b ? 1 : a == b ? 2 : a > b ? 4 : 8;
        p |= uint32_t((in.holds & relation) != 0) << l;
    }
    const auto with = [&](uint32_t x) {
        const uint32_t c = w.predicate(o[2]);
        return in.has("and") ? x & c : in.has("or") ? x | c : in.has("xor") ? x ^ c : x;
    };
    w.set_predicate(in.o[0], with(p));
    if (in.n_dst == 2) w.set_predicate(in.o[1], with(~p));
}

template <auto F> run_fn integers(type t) {
    return with_integer(t, []<class T>(T) -> run_fn { return lanewise<F, T, T, T, T>; });
}

template <auto F> run_fn wides(type t) {
    return with_integer(t, []<class T>(T) -> run_fn { return lanewise<F, wide<T>, T, T, wide<T>>; });
}

template <auto F> run_fn shifts(type t) {
    return with_integer(t, []<class T>(T) -> run_fn { return lanewise<F, T, T, uint32_t, uint32_t>; });
}

// of any type, floats too
template <auto F> run_fn bits(type t) {
    return t == type::pred ? logic<F> : with_bits(t, []<class T>(T) -> run_fn { return lanewise<F, T, T, T, T>; });
}

}

run_fn find_integer(instr & in) {
    static const std::map<std::string, run_fn (*)(type)> all = {
        { "mov", bits<PTX_OP(a)> },
        { "and", bits<PTX_OP(A(a & b))> },
        { "or",  bits<PTX_OP(A(a | b))> },
        { "xor", bits<PTX_OP(A(a ^ b))> },
        { "not", bits<PTX_OP(A(~a))> },
        { "add", integers<PTX_OP(A(bits_of<A>(a) + bits_of<A>(b)))> },
        { "sub", integers<PTX_OP(A(bits_of<A>(a) - bits_of<A>(b)))> },
        { "mul", integers<PTX_OP(A(uint64_t(a)*uint64_t(b)))> },
        { "mul.hi", integers<PTX_OP(A((wide<A>(a)*wide<A>(b)) >> 8*sizeof(A)))> },
        { "mul.wide", wides<PTX_OP(wide<A>(a)*wide<A>(b))> },
        { "mad", integers<PTX_OP(A(uint64_t(a)*uint64_t(b) + uint64_t(c)))> },
        { "mad.wide", wides<PTX_OP(wide<A>(uint64_t(wide<A>(a)*wide<A>(b)) + uint64_t(c)))> },
        { "div", integers<PTX_OP(b == 0 ? A(-1) : b == A(-1) ? A(A(0) - a) : A(a/b))> }, // by zero: unspecified
        { "rem", integers<PTX_OP(b == 0 ? a : b == A(-1) && std::is_signed_v<A> ? A(0) : A(a%b))> },
        { "min", integers<PTX_OP(a < b ? a : b)> },
        { "max", integers<PTX_OP(a > b ? a : b)> },
        { "abs", integers<PTX_OP(a < 0 ? A(-a) : a)> },
        { "neg", integers<PTX_OP(A(0 - bits_of<A>(a)))> },
        { "shl", shifts<PTX_OP(b >= 8*sizeof(A) ? A(0) : A(bits_of<A>(a) << b))> },
        { "shr", shifts<PTX_OP(b >= 8*sizeof(A) ? A(a < 0 ? -1 : 0) : A(a >> b))> },
    };
    // bits: below, equal, above, not ordered
    static const std::map<std::string, int> relations = {
        { "lt", 1 }, { "eq", 2 }, { "le", 3 }, { "gt", 4 }, { "ne", 5 }, { "ge", 6 }, { "num", 7 }, { "nan", 8 },
        { "ltu", 9 }, { "equ", 10 }, { "leu", 11 }, { "gtu", 12 }, { "neu", 13 }, { "geu", 14 },
    };
    const std::string & b = in.base;
    const type t = in.t();

    if (in.has("sat") || in.has("cc")) return nullptr;
    if (b == "mov" && in.n_vec + in.n_dst > 2) return pack;
    if (b == "prmt" && in.mods.empty()) return prmt;
    if (b == "dp4a" && t == type::s32 && in.t(1) == t) return dp4a;
    if (b == "dp2a" && t == type::s32 && in.t(1) == t) return dp2a;
    if (b == "popc" && t == type::b32) return lanewise<PTX_OP(uint32_t(std::popcount(a))), uint32_t, uint32_t, uint32_t, uint32_t>;
    if (b == "clz" && t == type::b32) return lanewise<PTX_OP(uint32_t(std::countl_zero(a))), uint32_t, uint32_t, uint32_t, uint32_t>;
    if (b == "clz" && t == type::b64) return lanewise<PTX_OP(uint32_t(std::countl_zero(a))), uint32_t, uint64_t, uint32_t, uint32_t>;
    if (b == "selp") return with_bits(t, []<class T>(T) -> run_fn { return selp<T>; });
    if (b == "bfi")  return with_bits(t, []<class T>(T) -> run_fn { return bfi<T>; });
    if (b == "bfe")  return with_integer(t, []<class T>(T) -> run_fn { return bfe<T>; });
    if (b == "setp" && !in.mods.empty() && relations.contains(in.mods[0])) {
        in.holds = relations.at(in.mods[0]);
        return with_type(t, []<class T>(T) -> run_fn { return setp<T>; });
    }
    const auto it = all.find(b + (in.has("wide") ? ".wide" : in.has("hi") ? ".hi" : ""));
    return it == all.end() ? nullptr : it->second(t);
}

} // namespace ptx
