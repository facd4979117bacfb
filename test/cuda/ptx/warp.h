// Warps of a block: registers by lane, and which lanes are where.

#pragma once

#include "cost.h"
#include "half.h"
#include "memory.h"

#include <bit>
#include <cstring>
#include <type_traits>

namespace ptx {

constexpr uint32_t ALL = ~0u;

struct dim { unsigned x = 1, y = 1, z = 1; };

struct block;

// Lanes at one place. Lowest place first: what branches around something meets again behind it.
struct group {
    uint32_t lanes = 0;
    bool     waits = false; // for lanes that an instruction of the whole warp names
};

// a copy that cp.async began
struct copy {
    size_t  to;
    int     n;
    uint8_t bytes[16];
};

struct warp {
    enum state_type { RUNS, AT_BARRIER, ENDED };

    block      * b = nullptr;
    int          index = 0;
    char       * regs  = nullptr;
    state_type   state = RUNS;
    int          pc    = 0;
    uint32_t     alive  = 0; // lanes that have not ended
    uint32_t     here   = 0; // lanes at pc
    uint32_t     active = 0; // of them, those that the guard lets through
    int          next   = 0; // the lowest place of others that may be reached, or any high number
    std::map<int, group> others; // by pc
    std::vector<copy>  copies;
    std::vector<char>  local;
    interval     when;
    const instr * at_barrier = nullptr;

    template <class T> T * lanes(const operand & o) { return (T *) (regs + o.at); }

    uint32_t & bits(const operand & o) { return *lanes<uint32_t>(o); }
    uint32_t   predicate(const operand & o) { return o.is_not ? ~bits(o) : bits(o); }

    void set_predicate(const operand & o, uint32_t value) {
        if (!o.is_bit_bucket) bits(o) = (bits(o) & ~active) | (value & active);
    }

    // registers may be wider than what is read or written: .u8 in a .b16
    template <class T = uint64_t> T get(const operand & o, int lane) {
        T x{};
        const char * at = regs + o.at + lane*o.size;
        sizeof(T) <= o.size ? memcpy(&x, at, sizeof(T)) : memcpy(&x, at, o.size);
        return x;
    }
    void set(const operand & o, int lane, uint64_t x) {
        char * at = regs + o.at + lane*o.size;
        o.size == 4 ? memcpy(at, &x, 4) : memcpy(at, &x, o.size); // most have 4, and a size that a compiler knows is no call
    }

    template <class F> void each(F f) { // active lane
        for (int l = 0; l < N_LANES; ++l) {
            if (active >> l & 1) f(l);
        }
    }

    // f(lane) of all lanes, to the active ones
    template <class T, class F> void fill(const operand & o, F f) {
        T x[N_LANES];
        T * d = lanes<T>(o);
        for (int l = 0; l < N_LANES; ++l) x[l] = f(l);
        if (active == ALL) {
            memcpy(d, x, sizeof(x));
        } else {
            for (int l = 0; l < N_LANES; ++l) d[l] = active >> l & 1 ? x[l] : d[l];
        }
    }

    uint32_t of_first(const operand & o) { return lanes<uint32_t>(o)[std::countr_zero(active)]; } // active lane

    void run(); // until it waits or ends
    void branch(int target);
    void leave(int pc, uint32_t lanes, bool waits = false);
    void regroup();

    // Of an instruction that names lanes: whether all of those that live are here; else they wait.
    bool meet(uint32_t lanes, const instr & in);
};

struct block {
    const program * p;
    dim             grid, size, at;
    size_t          n_dynamic;
    char          * params;
    region          shared;
    cost          * costs;
    std::vector<warp> warps;
};

// A kernel's launch, run to its end. args: a pointer to each of the kernel's parameters. Throws device_fault.
void launch(const program & p, dim grid, dim size, size_t n_dynamic, void ** args, cost & costs);

// once all warps that live have come to a barrier; -> whether one opened
bool open_barriers(block & b);

// f with a number of that type, or of that many bits
template <class F> run_fn with_integer(type t, F f) {
    switch (t) {
        case type::u8:  case type::b8:  return f(uint8_t());
        case type::u16: case type::b16: return f(uint16_t());
        case type::u32: case type::b32: return f(uint32_t());
        case type::u64: case type::b64: return f(uint64_t());
        case type::s8:  return f(int8_t());
        case type::s16: return f(int16_t());
        case type::s32: return f(int32_t());
        case type::s64: return f(int64_t());
        default:        return nullptr;
    }
}

template <class F> run_fn with_type(type t, F f) {
    switch (t) {
        case type::f16:  return f(half());
        case type::bf16: return f(bfloat());
        case type::f32:  return f(float());
        case type::f64:  return f(double());
        default:         return with_integer(t, f);
    }
}

// f with an integer of the type's size
template <class F> run_fn with_bits(type t, F f) {
    const size_t n = size_of(t);
    return with_integer(n == 2 ? type::b16 : n == 4 ? type::b32 : n == 8 ? type::b64 : type::none, f);
}

// d = F(a, b, c)
template <auto F, class D, class A, class B, class C> void lanewise(warp & w, const instr & in) {
    const A * a = w.lanes<A>(in.o[1]);
    const B * b = w.lanes<B>(in.o[2]);
    const C * c = w.lanes<C>(in.o[3]);
    w.fill<D>(in.o[0], [&](int l) { return F(a[l], b[l], c[l]); });
}

// what an instruction makes of its operands a, b and c
#define PTX_OP(...) [](auto a, [[maybe_unused]] auto b, [[maybe_unused]] auto c) { \
        using A [[maybe_unused]] = decltype(a);                                       \
        return (__VA_ARGS__);                                                         \
    }

} // namespace ptx
