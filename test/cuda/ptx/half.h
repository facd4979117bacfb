// Formats of 16 bits, rounded to nearest even.

#pragma once

#include <bit>
#include <cstdint>

namespace ptx {

struct half {
    uint16_t bits;

    half() = default;
    half(float x) : bits(std::bit_cast<uint16_t>((_Float16) x)) {}
    operator float() const { return std::bit_cast<_Float16>(bits); }
};

struct bfloat {
    uint16_t bits;

    bfloat() = default;
    bfloat(float x) {
        const uint32_t b = std::bit_cast<uint32_t>(x);
        bits = x != x ? 0x7fff : (b + 0x7fff + (b >> 16 & 1)) >> 16;
    }
    operator float() const { return std::bit_cast<float>((uint32_t) bits << 16); }
};

} // namespace ptx
