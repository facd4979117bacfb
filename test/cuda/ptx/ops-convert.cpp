// cvt: between any two types.

#include "warp.h"

#include <cfloat>
#include <cmath>
#include <limits>

namespace ptx {

namespace {

template <class T> constexpr bool is_float = !std::is_integral_v<T>;

template <class T> T read(warp & w, const operand & o, int l) {
    const uint64_t x = w.get(o, l);
    T res;
    memcpy(&res, &x, sizeof(res));
    return res;
}

double round_to_integer(double x, const instr & in) {
    return in.has("rzi") ? std::trunc(x) : in.has("rmi") ? std::floor(x) : in.has("rpi") ? std::ceil(x) : std::nearbyint(x);
}

template <class D, class S> D convert(S s, const instr & in) {
    if constexpr (is_float<D> && is_float<S>) {
        double x = std::is_same_v<S, double> ? (double) s : (double) (float) s;
        const bool rounds = in.has("rni") || in.has("rzi") || in.has("rmi") || in.has("rpi");
        if (rounds) x = round_to_integer(x, in);
        if (in.has("ftz") && std::is_same_v<S, float> && std::fabs(x) < FLT_MIN) x = std::copysign(0.0, x);
        if (in.has("sat")) x = x > 0 ? std::min(x, 1.0) : 0.0;
        if constexpr (std::is_same_v<D, double>) {
            return x;
        } else {
            return in.has("relu") && x < 0 ? D(0.0f) : D((float) x); // rounded to nearest
        }
    } else if constexpr (is_float<D>) {
        return std::is_same_v<D, double> ? D((double) s) : D((float) s); // one rounding, to nearest
    } else if constexpr (is_float<S>) {
        const double x = round_to_integer(std::is_same_v<S, double> ? (double) s : (double) (float) s, in);
        const double limit = std::ldexp(1.0, std::numeric_limits<D>::digits);
        if (x != x)      return 0;
        if (x >= limit)  return std::numeric_limits<D>::max();
        if (x < -limit || (x < 0 && !std::is_signed_v<D>)) return std::numeric_limits<D>::min();
        return (D) x;
    } else {
        if (in.has("sat")) {
            const __int128 x = s, lo = std::numeric_limits<D>::min(), hi = std::numeric_limits<D>::max();
            return (D) (x < lo ? lo : x > hi ? hi : x);
        }
        return (D) s;
    }
}

template <class D, class S> void cvt(warp & w, const instr & in) {
    for (int l = 0; l < N_LANES; ++l) {
        if (~w.active >> l & 1) continue;
        const D x = convert<D>(read<S>(w, in.o[1], l), in);
        uint64_t wide = 0;
        if constexpr (std::is_integral_v<D>) wide = (uint64_t) (std::conditional_t<std::is_signed_v<D>, int64_t, uint64_t>) x; // extended
        else memcpy(&wide, &x, sizeof(x));
        w.set(in.o[0], l, wide);
    }
}

// two numbers to a register: the first one above
template <class D> void cvt_pair(warp & w, const instr & in) {
    for (int l = 0; l < N_LANES; ++l) {
        if (~w.active >> l & 1) continue;
        const D high = convert<D>(read<float>(w, in.o[1], l), in), low = convert<D>(read<float>(w, in.o[2], l), in);
        w.set(in.o[0], l, (uint64_t) high.bits << 16 | low.bits);
    }
}

}

run_fn find_convert(const instr & in) {
    if (in.base != "cvt" || in.types.size() != 2) {
        return nullptr;
    }
    if (in.t() == type::f16x2)  return cvt_pair<half>;
    if (in.t() == type::bf16x2) return cvt_pair<bfloat>;
    return with_type(in.t(0), [&](auto d) {
        return with_type(in.t(1), [](auto s) -> run_fn { return cvt<decltype(d), decltype(s)>; });
    });
}

} // namespace ptx
