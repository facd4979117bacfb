// Instructions on F32 and on pairs or single numbers of 16 bits. Where the ISA asks for an approximation, this is the number
// nearest to it.

#include "warp.h"

namespace ptx {

namespace {

PTX_OP(add,  a + b);
PTX_OP(sub,  a - b);
PTX_OP(mul,  a*b);
PTX_OP(fma_, std::fma(a, b, c));
PTX_OP(quot, a/b);
PTX_OP(neg,  -a);
PTX_OP(abs_, std::fabs(a));
PTX_OP(min_, a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b); // -0 is below 0; NaN loses
PTX_OP(max_, a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b);
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
    static float of(float a, float b, float c) { return flush(F::of(flush(a), flush(b), flush(c))); }
};

// N of them in a register, in double: products and sums of F16 are exact there, so they are rounded once
template <class F, int N> void halves(warp & w, const instr & in) {
    using T = std::array<half, N>;
    w.fill<T>(in.o[0], [&](int l) {
        T res;
        for (int i = 0; i < N; ++i) {
            const auto at = [&](int o) { return (double) w.lanes<T>(in.o[o])[l][i]; };
            res[i] = half((float) F::of(at(1), at(2), at(3)));
        }
        return res;
    });
}

template <class F> run_fn floats(const instr & in) {
    const bool ftz = in.has("ftz");
    if (in.t() == type::f32)   return ftz ? lanewise<flushed<F>, float, float, float, float> : lanewise<F, float, float, float, float>;
    if (in.t() == type::f16)   return ftz ? nullptr : halves<F, 1>;
    if (in.t() == type::f16x2) return ftz ? nullptr : halves<F, 2>;
    return nullptr;
}

}

run_fn find_float(instr & in) {
    static const std::map<std::string, run_fn (*)(const instr &)> all = {
        { "add", floats<add> }, { "sub", floats<sub> }, { "mul", floats<mul> }, { "fma", floats<fma_> }, { "div", floats<quot> },
        { "min", floats<min_> }, { "max", floats<max_> }, { "neg", floats<neg> }, { "abs", floats<abs_> }, { "copysign", floats<sign> },
        { "rcp", floats<rcp> }, { "sqrt", floats<root> }, { "rsqrt", floats<inverse_root> }, { "ex2", floats<exp2_> },
        { "lg2", floats<log2_> }, { "sin", floats<sin_> }, { "cos", floats<cos_> }, { "tanh", floats<tanh_> },
    };
    if (in.has_any({ "NaN", "sat", "relu", "rm", "rp" })) return nullptr;
    if (in.has("rz")) return in.base == "add" && in.t() == type::f32 ? floats<add_toward_zero>(in) : nullptr;
    const auto it = all.find(in.base);
    return it == all.end() ? nullptr : it->second(in);
}

} // namespace ptx
