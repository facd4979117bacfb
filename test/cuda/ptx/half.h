// Formats of 16 bits, rounded to nearest even, and zeros for subnormals of 32.

#pragma once

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>

namespace ptx {

using half = _Float16;

struct bfloat {
    uint16_t bits;

    bfloat() = default;
    bfloat(float x) {
        const uint32_t b = std::bit_cast<uint32_t>(x);
        bits = x != x ? 0x7fff : (b + 0x7fff + (b >> 16 & 1)) >> 16;
    }
    operator float() const { return std::bit_cast<float>((uint32_t) bits << 16); }
};

// .ftz: subnormals are zeros of their sign
inline float flush(float x) { return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x; }

} // namespace ptx
