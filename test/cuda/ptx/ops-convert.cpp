// cvt: between any two types.

#include "warp.h"

#include <limits>

namespace ptx {

namespace {

template <class T> constexpr bool is_float = !std::is_integral_v<T>;

double round_to_integer(double x, const instr & in) {
    return in.has("rzi") ? std::trunc(x) : in.has("rmi") ? std::floor(x) : in.has("rpi") ? std::ceil(x) : std::nearbyint(x);
}

template <class D, class S> D convert(S s, const instr & in) {
    if constexpr (!is_float<S>) {
        if constexpr (is_float<D> && !std::is_same_v<D, double>) return D((float) s); // one rounding, to nearest
        return (D) s;
    } else {
        double x = std::is_same_v<S, float> && in.has("ftz") ? flush(s) : (double) s;
        if (!is_float<D> || in.has_any({ "rni", "rzi", "rmi", "rpi" })) x = round_to_integer(x, in);
        if constexpr (std::is_same_v<D, double>) return x;
        else if constexpr (is_float<D>)          return D((float) x); // rounded to nearest
        else {
            const double limit = std::ldexp(1.0, std::numeric_limits<D>::digits);
            if (x != x)      return 0;
            if (x >= limit)  return std::numeric_limits<D>::max();
            if (x < -limit || (x < 0 && !std::is_signed_v<D>)) return std::numeric_limits<D>::min();
            return (D) x;
        }
    }
}

template <class D, class S> void cvt(warp & w, const instr & in) {
    w.each([&](int l) {
        const D x = convert<D>(w.get<S>(in.o[1], l), in);
        uint64_t wide = 0;
        if constexpr (std::is_integral_v<D>) wide = (int64_t) x; // extended
        else memcpy(&wide, &x, sizeof(x));
        w.set(in.o[0], l, wide);
    });
}

// two numbers to a register: the first one above
template <class D> void cvt_pair(warp & w, const instr & in) {
    w.fill<uint32_t>(in.o[0], [&](int l) {
        const D both[2] = { convert<D>(w.lanes<float>(in.o[2])[l], in), convert<D>(w.lanes<float>(in.o[1])[l], in) };
        return std::bit_cast<uint32_t>(both);
    });
}

}

run_fn find_convert(instr & in) {
    if (in.base != "cvt" || in.types.size() != 2 || in.has_any({ "sat", "satfinite", "relu", "rz", "rm", "rp" })) {
        return nullptr;
    }
    if (in.t() == type::f16x2)  return cvt_pair<half>;
    if (in.t() == type::bf16x2) return cvt_pair<bfloat>;
    return with_type(in.t(0), [&](auto d) {
        return with_type(in.t(1), [](auto s) -> run_fn { return cvt<decltype(d), decltype(s)>; });
    });
}

} // namespace ptx
