// Integer, logic and comparison instructions, and the copies between registers.

#include "warp.h"

namespace ptx {

namespace {

// products of twice the width
template <class T> using wide = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
        std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;
template <class T> using bits_of = std::make_unsigned_t<T>;

PTX_OP(add,  A(bits_of<A>(a) + bits_of<A>(b)));
PTX_OP(sub,  A(bits_of<A>(a) - bits_of<A>(b)));
PTX_OP(mul,  A(uint64_t(a)*uint64_t(b)));
PTX_OP(high, A((wide<A>(a)*wide<A>(b)) >> 8*sizeof(A)));
PTX_OP(mulw, wide<A>(a)*wide<A>(b));
PTX_OP(mad,  A(uint64_t(a)*uint64_t(b) + uint64_t(c)));
PTX_OP(madh, A(bits_of<A>(A((wide<A>(a)*wide<A>(b)) >> 8*sizeof(A))) + bits_of<A>(c)));
PTX_OP(madw, wide<A>(bits_of<wide<A>>(wide<A>(a)*wide<A>(b)) + bits_of<wide<A>>(c)));
PTX_OP(quot, b == 0 ? A(-1) : b == A(-1) ? A(A(0) - a) : A(a/b)); // by zero: unspecified
PTX_OP(rest, b == 0 ? a : b == A(-1) && std::is_signed_v<A> ? A(0) : A(a%b));
PTX_OP(min_, a < b ? a : b);
PTX_OP(max_, a > b ? a : b);
PTX_OP(abs_, a < 0 ? A(-a) : a);
PTX_OP(neg,  A(0 - bits_of<A>(a)));
PTX_OP(and_, A(a & b));
PTX_OP(or_,  A(a | b));
PTX_OP(xor_, A(a ^ b));
PTX_OP(not_, A(~a));
PTX_OP(cnot, A(a == 0));
PTX_OP(same_as, a);
PTX_OP(shl,  b >= 8*sizeof(A) ? A(0) : A(bits_of<A>(a) << b));
PTX_OP(shr,  A(a >> (b < 8*sizeof(A) ? b : std::is_signed_v<A> ? 8*sizeof(A) - 1 : 0) & (b < 8*sizeof(A) || std::is_signed_v<A> ? A(-1) : A(0))));
PTX_OP(popc, uint32_t(std::popcount(a)));
PTX_OP(clz,  uint32_t(std::countl_zero(a)));

struct brev {
    template <class A, class B, class C> static A of(A a, B, C) {
        A res = 0;
        for (size_t i = 0; i < 8*sizeof(A); ++i) res |= A(a >> i & 1) << (8*sizeof(A) - 1 - i);
        return res;
    }
};

// lanes of four operands
template <class D, class F> void each(warp & w, const instr & in, F f) {
    D res[N_LANES];
    for (int l = 0; l < N_LANES; ++l) res[l] = f(l);
    w.store(in.o[0], res);
}

// the last one names start, the one before it has what goes in
template <class T> void bfi(warp & w, const instr & in) {
    each<T>(w, in, [&](int l) {
        const T a = w.lanes<T>(in.o[1])[l], b = w.lanes<T>(in.o[2])[l];
        const unsigned at = w.lanes<uint32_t>(in.o[3])[l] & 0xff, n = w.lanes<uint32_t>(in.o[4])[l] & 0xff;
        if (at >= 8*sizeof(T)) return b;
        const T field = n >= 8*sizeof(T) ? T(-1) : T((T(1) << n) - 1);
        return T((b & ~(field << at)) | (a & field) << at);
    });
}

template <class T> void bfe(warp & w, const instr & in) {
    each<T>(w, in, [&](int l) {
        const T a = w.lanes<T>(in.o[1])[l];
        const unsigned at = w.lanes<uint32_t>(in.o[2])[l] & 0xff, n = w.lanes<uint32_t>(in.o[3])[l] & 0xff;
        const unsigned n_bits = 8*sizeof(T);
        const bool sign = std::is_signed_v<T> && n > 0 && a >> std::min(at + n - 1, n_bits - 1) & 1;
        T res = 0;
        for (unsigned i = 0; i < n_bits; ++i) {
            const bool bit = i < n && at + i < n_bits ? a >> (at + i) & 1 : sign;
            res |= T(bit) << i;
        }
        return res;
    });
}

void prmt(warp & w, const instr & in) { // default mode
    each<uint32_t>(w, in, [&](int l) {
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

void lop3(warp & w, const instr & in) {
    each<uint32_t>(w, in, [&](int l) {
        uint32_t res = 0;
        for (int i = 0; i < 8; ++i) { // a row of the table: bits of a, b, c
            if (~w.lanes<uint32_t>(in.o[4])[l] >> i & 1) continue;
            uint32_t all = ~0u;
            for (int j = 0; j < 3; ++j) all &= i >> (2 - j) & 1 ? w.lanes<uint32_t>(in.o[1 + j])[l] : ~w.lanes<uint32_t>(in.o[1 + j])[l];
            res |= all;
        }
        return res;
    });
}

void shf(warp & w, const instr & in) {
    each<uint32_t>(w, in, [&](int l) {
        const uint64_t both = w.lanes<uint32_t>(in.o[1])[l] | (uint64_t) w.lanes<uint32_t>(in.o[2])[l] << 32;
        const uint32_t c = w.lanes<uint32_t>(in.o[3])[l];
        const uint32_t n = in.has("wrap") ? c & 31 : std::min(c, 32u);
        return uint32_t(in.has("l") ? both << n >> 32 : both >> n);
    });
}

template <class A, class B> void dp4a(warp & w, const instr & in) {
    each<uint32_t>(w, in, [&](int l) {
        uint32_t sum = w.lanes<uint32_t>(in.o[3])[l];
        for (int i = 0; i < 4; ++i) {
            sum += int32_t(w.lanes<A>(in.o[1])[4*l + i])*int32_t(w.lanes<B>(in.o[2])[4*l + i]);
        }
        return sum;
    });
}

template <class T> void selp(warp & w, const instr & in) {
    const uint32_t p = w.predicate(in.o[3]);
    each<T>(w, in, [&](int l) { return w.lanes<T>(in.o[p >> l & 1 ? 1 : 2])[l]; });
}

// mov of a vector to a register, or of a register to one
void pack(warp & w, const instr & in) {
    const int n_src = in.n_vec;
    for (int l = 0; l < N_LANES; ++l) {
        if (~w.active >> l & 1) continue;
        uint64_t all = 0;
        for (int i = 0, shift = 0; i < n_src; shift += 8*size_of(in.t())/n_src, ++i) all |= w.get(in.o[in.n_dst + i], l) << shift;
        for (int i = 0; i < in.n_dst; all >>= 8*in.o[i].size, ++i) {
            if (!in.o[i].is_bit_bucket) w.set(in.o[i], l, all);
        }
    }
}

template <char op> void logic(warp & w, const instr & in) {
    const uint32_t a = w.predicate(in.o[1]);
    const uint32_t b = w.predicate(in.o[2]);
    w.set_predicate(in.o[0], op == '&' ? a & b : op == '|' ? a | b : op == '^' ? a ^ b : op == '~' ? ~a : a);
}

PTX_OP(eq, a == b); PTX_OP(ne, a != b); PTX_OP(lt, a < b); PTX_OP(le, a <= b); PTX_OP(gt, a > b); PTX_OP(ge, a >= b);

template <class F, class T> void setp(warp & w, const instr & in) {
    const int first = in.n_dst; // p or p|q
    const T * a = w.lanes<T>(in.o[first]);
    const T * b = w.lanes<T>(in.o[first + 1]);
    uint32_t p = 0;
    for (int l = 0; l < N_LANES; ++l) p |= uint32_t(F::of(a[l], b[l], 0)) << l;
    set_comparison(w, in, p);
}

template <class T> constexpr bool is_integer = std::is_integral_v<T> && sizeof(T) > 1;
template <class T> using unsigned_of = std::conditional_t<sizeof(T) <= 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;

template <class F> run_fn integers(type t) {
    return with_type(t, []<class T>(T) -> run_fn {
        if constexpr (is_integer<T>) return lanewise<F, T, T, T, T>; else return nullptr;
    });
}

template <class F> run_fn wides(type t) {
    return with_type(t, []<class T>(T) -> run_fn {
        if constexpr (is_integer<T> && sizeof(T) < 8) return lanewise<F, wide<T>, T, T, wide<T>>; else return nullptr;
    });
}

template <class F> run_fn by_bits(type t) {
    return with_type(t, []<class T>(T) -> run_fn { using B = unsigned_of<T>; return lanewise<F, B, B, B, B>; });
}

template <class F> run_fn shifts(type t) {
    return with_type(t, []<class T>(T) -> run_fn {
        using B = std::conditional_t<is_integer<T>, T, unsigned_of<T>>;
        return lanewise<F, B, B, uint32_t, uint32_t>;
    });
}

template <class F> run_fn counts(type t) {
    return size_of(t) == 4 ? (run_fn) lanewise<F, uint32_t, uint32_t, uint32_t, uint32_t> : lanewise<F, uint32_t, uint64_t, uint64_t, uint64_t>;
}

template <class T> run_fn comparison(const instr & in) {
    const std::string & how = in.mods[0];
    return how == "eq" ? setp<eq, T> : how == "ne" ? setp<ne, T> : how == "lt" || how == "lo" ? setp<lt, T> :
        how == "le" || how == "ls" ? setp<le, T> : how == "gt" || how == "hi" ? setp<gt, T> :
        how == "ge" || how == "hs" ? setp<ge, T> : (run_fn) nullptr;
}

}

run_fn find_integer(const instr & in) {
    const std::string & b = in.base;
    const type t = in.t();

    if (b == "mov" && t != type::pred && in.n_vec + in.n_dst > 2) return pack;
    if (t == type::pred) {
        return b == "mov" ? logic<'='> : b == "and" ? logic<'&'> : b == "or" ? logic<'|'> : b == "xor" ? logic<'^'> :
            b == "not" ? logic<'~'> : (run_fn) nullptr;
    }
    static const std::map<std::string, run_fn (*)(type)> of_bits = {
        { "mov", by_bits<same_as> }, { "and", by_bits<and_> }, { "or", by_bits<or_> }, { "xor", by_bits<xor_> }, { "not", by_bits<not_> },
        { "cnot", by_bits<cnot> }, { "brev", by_bits<brev> }, { "shl", shifts<shl> }, { "shr", shifts<shr> }, { "popc", counts<popc> },
        { "clz", counts<clz> },
    };
    static const std::map<std::string, run_fn (*)(type)> of_integers = {
        { "add", integers<add> }, { "sub", integers<sub> }, { "div", integers<quot> }, { "rem", integers<rest> }, { "min", integers<min_> },
        { "max", integers<max_> }, { "abs", integers<abs_> }, { "neg", integers<neg> },
    };
    if (const auto it = of_bits.find(b); it != of_bits.end()) return it->second(t);
    if (b == "selp") return size_of(t) == 2 ? selp<uint16_t> : size_of(t) == 4 ? selp<uint32_t> : selp<uint64_t>;
    if (b == "bfi")  return size_of(t) == 4 ? bfi<uint32_t> : bfi<uint64_t>;
    if (b == "bfe")  return t == type::u32 ? bfe<uint32_t> : t == type::s32 ? bfe<int32_t> : t == type::u64 ? bfe<uint64_t> : bfe<int64_t>;
    if (b == "prmt" && in.mods.empty()) return prmt;
    if (b == "lop3") return lop3;
    if (b == "shf")  return shf;
    if (b == "dp4a") {
        const bool is_signed[] = { t == type::s32, in.t(1) == type::s32 };
        return is_signed[0] ? (is_signed[1] ? dp4a<int8_t, int8_t> : dp4a<int8_t, uint8_t>)
                            : (is_signed[1] ? dp4a<uint8_t, int8_t> : dp4a<uint8_t, uint8_t>);
    }
    if (in.has("sat") || in.has("cc")) return nullptr;
    if (const auto it = of_integers.find(b); it != of_integers.end()) return it->second(t);
    if (b == "mul")  return in.has("wide") ? wides<mulw>(t) : in.has("hi") ? integers<high>(t) : integers<mul>(t);
    if (b == "mad")  return in.has("wide") ? wides<madw>(t) : in.has("hi") ? integers<madh>(t) : integers<mad>(t);
    if (b == "setp") {
        return with_type(t, [&]<class T>(T) -> run_fn {
            if constexpr (is_integer<T>) return comparison<T>(in); else return nullptr;
        });
    }
    return nullptr;
}

} // namespace ptx
