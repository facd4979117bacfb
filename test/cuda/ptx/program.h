// A kernel as it runs: instructions whose operands are places in a warp's registers. A literal, a symbol's address and a
// special register are registers, too.

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

enum class type : uint8_t {
    none, pred, b8, b16, b32, b64, u8, u16, u32, u64, s8, s16, s32, s64, f16, f16x2, bf16, bf16x2, f32, f64,
};

type   type_of(const std::string & name); // none: no type's name
size_t size_of(type t);

enum class space : uint8_t { generic, global, shared, local, param };

// what the cost of a launch is counted by
enum class kind : uint8_t { matrix, fma, arithmetic, special, move, global, shared, exchange, barrier, control };
constexpr int N_KINDS = 10;

// what an instruction's name says beside its types, a bit each
struct modifier {
    static constexpr const char * NAMES[] = {
        "wide", "hi", "sat", "satfinite", "cc", "ftz", "NaN", "relu", "and", "or", "xor", "rni", "rzi", "rmi", "rpi", "rz", "rm", "rp",
        "up", "down", "bfly", "sync", "any", "warp", "red", "popc", "trans", "m8n8", "async", "wait_all", "add", "min", "max", "exch",
        "cas", "to", "global", "const", "shared", "shared::cta", "local", "param", "v2", "v4",
    };
    int bit = 0;

    consteval modifier(const char * name) {
        while (std::string_view(name) != NAMES[bit]) ++bit; // past the end: does not compile
    }
};

constexpr int N_LANES = 32;

struct warp;

struct operand {
    uint32_t at     = 0;     // of its lanes, in bytes
    uint8_t  size   = 0;     // bytes of a lane; 0: a predicate, a bit per lane
    bool     is_not = false; // the predicate's complement
    bool     is_bit_bucket = false; // _
    int64_t  offset = 0;     // of an address
};

struct instr {
    void (*run)(warp &, const instr &) = nullptr;

    std::vector<operand> o;         // vectors are flat
    int                  n_dst = 0; // of them, in the first one
    operand              guard;
    bool                 is_guarded = false;
    int                  target     = -1;

    // of the name, add.ftz.f32
    std::string              base;
    std::vector<std::string> mods;
    uint64_t                 mod_bits = 0;
    std::vector<type>        types;
    kind                     cost = kind::arithmetic;
    space                    where = space::generic;
    int                      n_vec = 1;
    int                      holds = 0; // of setp: for which relations

    std::string text;

    bool has(modifier m) const { return mod_bits >> m.bit & 1; }
    bool has_any(std::initializer_list<modifier> ms) const { return std::any_of(ms.begin(), ms.end(), [&](modifier m) { return has(m); }); }
    type t(int i = 0) const { return i >= 0 && i < (int) types.size() ? types[i] : type::none; }
};

// what a device would fault on, or leave undefined, ends a launch
struct device_fault : std::runtime_error { using runtime_error::runtime_error; };

[[noreturn]] inline void fault(const std::string & what, const instr * in = nullptr) {
    throw device_fault(what + (in ? ": " + in->text : ""));
}

// of a register's lanes, at the start of a warp
struct literal {
    uint32_t at;
    uint8_t  size;
    uint64_t value;
};

constexpr const char * SPECIALS[] = {
    "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y",
    "%nctaid.z", "%laneid", "%warpid", "%lanemask_lt", "%dynamic_smem_size",
};

struct program {
    std::string                            name;
    std::vector<instr>                     code;
    std::vector<literal>                   literals;
    std::vector<std::pair<int, uint32_t>>  specials; // which one, and its register
    std::vector<std::pair<size_t, size_t>> params;   // offset, bytes
    size_t                                 n_params    = 0; // bytes
    size_t                                 n_registers = 0; // bytes of a warp
    size_t                                 n_shared    = 0; // bytes, static
    size_t                                 n_local     = 0; // bytes of a thread
    int                                    max_threads = 1024;
};

using run_fn = void (*)(warp &, const instr &);

// the families of instructions, tried one after the other; null: not one of theirs
run_fn find_integer(instr & in);
run_fn find_float  (instr & in);
run_fn find_convert(instr & in);
run_fn find_memory (instr & in); // finds its space, too
run_fn find_warp   (instr & in);
run_fn find_matrix (instr & in);

} // namespace ptx
