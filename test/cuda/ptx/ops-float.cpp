// Instructions on F32 and on pairs or single numbers of 16 bits. Where the ISA asks for an approximation, this is the number
// nearest to it.

#include "warp.h"

namespace ptx {

namespace {

// a sum towards zero: what rounding to nearest left out says whether that went beyond
constexpr auto add_toward_zero = [](auto a, auto b, auto) {
    const auto sum = a + b, of_b = sum - a, rest = (a - (sum - of_b)) + (b - of_b);
    return std::fabs(rest) > 0 && std::signbit(rest) != std::signbit(sum) ? std::nextafter(sum, decltype(sum)(0)) : sum;
};

template <auto F> float flushed(float a, float b, float c) { return flush(F(flush(a), flush(b), flush(c))); }

// N of them in a register, in double: products and sums of F16 are exact there, so they are rounded once
template <auto F, int N> void halves(warp & w, const instr & in) {
    using T = std::array<half, N>;
    w.fill<T>(in.o[0], [&](int l) {
        T res;
        for (int i = 0; i < N; ++i) {
            const auto at = [&](int o) { return (double) w.lanes<T>(in.o[o])[l][i]; };
            res[i] = half((float) F(at(1), at(2), at(3)));
        }
        return res;
    });
}

template <auto F> run_fn floats(const instr & in) {
    const bool ftz = in.has("ftz");
    if (in.t() == type::f32)   return ftz ? lanewise<flushed<F>, float, float, float, float> : lanewise<F, float, float, float, float>;
    if (in.t() == type::f16)   return ftz ? nullptr : halves<F, 1>;
    if (in.t() == type::f16x2) return ftz ? nullptr : halves<F, 2>;
    return nullptr;
}

}

run_fn find_float(instr & in) {
    static const std::map<std::string, run_fn (*)(const instr &)> all = {
        { "add", floats<PTX_OP(a + b)> },
        { "sub", floats<PTX_OP(a - b)> },
        { "mul", floats<PTX_OP(a*b)> },
        { "fma", floats<PTX_OP(std::fma(a, b, c))> },
        { "div", floats<PTX_OP(a/b)> },
        { "neg", floats<PTX_OP(-a)> },
        { "abs", floats<PTX_OP(std::fabs(a))> },
        { "min", floats<PTX_OP(a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b)> }, // -0 is below 0; NaN loses
        { "max", floats<PTX_OP(a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b)> },
        { "rcp", floats<PTX_OP(1/a)> },
        { "sqrt", floats<PTX_OP(std::sqrt(a))> },
        { "rsqrt", floats<PTX_OP(1/std::sqrt(a))> },
        { "ex2", floats<PTX_OP(std::exp2(a))> },
        { "lg2", floats<PTX_OP(std::log2(a))> },
        { "sin", floats<PTX_OP(std::sin(a))> },
        { "cos", floats<PTX_OP(std::cos(a))> },
        { "tanh", floats<PTX_OP(std::tanh(a))> },
        { "copysign", floats<PTX_OP(std::copysign(b, a))> },
    };
    if (in.has_any({ "NaN", "sat", "relu", "rm", "rp" })) return nullptr;
    if (in.has("rz")) return in.base == "add" && in.t() == type::f32 ? floats<add_toward_zero>(in) : nullptr;
    const auto it = all.find(in.base);
    return it == all.end() ? nullptr : it->second(in);
}

} // namespace ptx
