// Instructions on F32, F64 and pairs or single numbers of 16 bits. Where the ISA asks for an approximation, this is the
// number nearest to it.

#include "warp.h"

#include <cfloat>
#include <cmath>

namespace ptx {

namespace {

// subnormals are zeros of their sign
static inline float flush(float x) { return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x; }
template <class T> T flush(T x) { return x; }

PTX_OP(add,  a + b);
PTX_OP(sub,  a - b);
PTX_OP(mul,  a*b);
PTX_OP(fma_, std::fma(a, b, c));
PTX_OP(quot, a/b);
PTX_OP(neg,  -a);
PTX_OP(abs_, std::fabs(a));
PTX_OP(min_, a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b); // -0 is below 0; NaN loses
PTX_OP(max_, a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b);
PTX_OP(minn, a != a || b != b ? A(NAN) : min_::of(a, b, c)); // .NaN
PTX_OP(maxn, a != a || b != b ? A(NAN) : max_::of(a, b, c));
PTX_OP(rcp,  1/a);
PTX_OP(root, std::sqrt(a));
PTX_OP(inverse_root, 1/std::sqrt(a));
PTX_OP(exp2_, std::exp2(a));
PTX_OP(log2_, std::log2(a));
PTX_OP(sin_, std::sin(a));
PTX_OP(cos_, std::cos(a));
PTX_OP(tanh_, std::tanh(a));
PTX_OP(sign, std::copysign(b, a));

// a sum towards zero: what rounding to nearest left out says whether that went beyond
struct add_toward_zero {
    template <class A, class B, class C> static A of(A a, B b, C) {
        const A sum = a + b, of_b = sum - a, rest = (a - (sum - of_b)) + (b - of_b);
        return std::fabs(rest) > 0 && std::signbit(rest) != std::signbit(sum) ? std::nextafter(sum, A(0)) : sum;
    }
};

template <class F> struct flushed {
    template <class A, class B, class C> static A of(A a, B b, C c) { return flush(F::of(flush(a), flush(b), flush(c))); }
};
template <class F> struct saturated {
    template <class A, class B, class C> static A of(A a, B b, C c) { const A x = F::of(a, b, c); return x > 0 ? x < 1 ? x : 1 : 0; }
};

// Of numbers of 16 bits in double: products and sums of F16 are exact there, so they are rounded once.
template <class T, class F> struct narrow {
    template <class A, class B, class C> static T of(A a, B b, C c) {
        return T((float) F::of((double) (float) a, (double) (float) b, (double) (float) c));
    }
};

// several of them in a register
template <class F, class T, int N> void packed(warp & w, const instr & in) {
    T res[N_LANES][N];
    for (int l = 0; l < N_LANES; ++l) {
        for (int i = 0; i < N; ++i) {
            const auto at = [&](int o) { return w.lanes<T>(in.o[o])[l*N + i]; };
            res[l][i] = narrow<T, F>::of(at(1), at(2), at(3));
        }
    }
    for (int l = 0; l < N_LANES; ++l) {
        if (w.active >> l & 1) memcpy(w.lanes<T>(in.o[0]) + l*N, res[l], sizeof(res[l]));
    }
}

template <class F> run_fn floats(const instr & in) {
    const bool ftz = in.has("ftz");
    switch (in.t()) {
        case type::f32:
            if (in.has("sat")) return lanewise<saturated<F>, float, float, float, float>;
            return ftz ? lanewise<flushed<F>, float, float, float, float> : lanewise<F, float, float, float, float>;
        case type::f64:    return lanewise<F, double, double, double, double>;
        case type::f16:    return ftz || in.has("sat") ? nullptr : packed<F, half, 1>;
        case type::f16x2:  return ftz || in.has("sat") ? nullptr : packed<F, half, 2>;
        case type::bf16:   return packed<F, bfloat, 1>;
        case type::bf16x2: return packed<F, bfloat, 2>;
        default:           return nullptr;
    }
}

// below, equal, above, not ordered: which of them hold
template <class T> void setp(warp & w, const instr & in) {
    static const std::map<std::string, int> relations = {
        { "lt", 1 }, { "le", 3 }, { "gt", 4 }, { "ge", 6 }, { "eq", 2 }, { "ne", 5 }, { "num", 7 }, { "nan", 8 },
        { "ltu", 9 }, { "leu", 11 }, { "gtu", 12 }, { "geu", 14 }, { "equ", 10 }, { "neu", 13 },
    };
    const int holds = relations.at(in.mods[0]);
    const bool ftz  = in.has("ftz");
    const int first = in.n_dst;
    uint32_t p = 0;
    for (int l = 0; l < N_LANES; ++l) {
        float a = w.lanes<T>(in.o[first])[l], b = w.lanes<T>(in.o[first + 1])[l];
        if (ftz) a = flush(a), b = flush(b);
        const int relation = a < b ? 1 : a == b ? 2 : a > b ? 4 : 8;
        p |= uint32_t((holds & relation) != 0) << l;
    }
    set_comparison(w, in, p);
}

}

run_fn find_float(const instr & in) {
    const std::string & b = in.base;
    const type t = in.t();

    if (b == "selp" || b == "mov") {
        return nullptr;
    }
    if (in.has("rz") || in.has("rm") || in.has("rp")) {
        return b == "add" && in.has("rz") && size_of(t) >= 4 ? floats<add_toward_zero>(in) : nullptr;
    }
    if (b == "setp") {
        return t == type::f32 ? setp<float> : t == type::f64 ? setp<double> : t == type::f16 ? setp<half> : t == type::bf16 ? setp<bfloat> : nullptr;
    }
    static const std::map<std::string, run_fn (*)(const instr &)> all = {
        { "add", floats<add> }, { "sub", floats<sub> }, { "mul", floats<mul> }, { "fma", floats<fma_> }, { "div", floats<quot> },
        { "min", floats<min_> }, { "max", floats<max_> }, { "neg", floats<neg> }, { "abs", floats<abs_> }, { "copysign", floats<sign> },
        { "rcp", floats<rcp> }, { "sqrt", floats<root> }, { "rsqrt", floats<inverse_root> }, { "ex2", floats<exp2_> },
        { "lg2", floats<log2_> }, { "sin", floats<sin_> }, { "cos", floats<cos_> }, { "tanh", floats<tanh_> },
    };
    if (in.has("NaN") && (b == "min" || b == "max")) return b == "min" ? floats<minn>(in) : floats<maxn>(in);
    const auto it = all.find(b);
    return it == all.end() ? nullptr : it->second(in);
}

} // namespace ptx
