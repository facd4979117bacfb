// A kernel as it runs: instructions whose operands are places in a warp's registers. A literal, a symbol's address and a
// special register are registers, too.

#pragma once

#include <cstdint>
#include <map>
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
        "wide", "hi", "sat", "cc", "l", "wrap", "ftz", "NaN", "and", "or", "xor", "rni", "rzi", "rmi", "rpi", "relu", "up", "down",
        "bfly", "sync", "any", "red", "popc", "trans", "m8n8", "to", "global", "const", "shared", "shared::cta", "local", "param",
        "add", "min", "max", "exch", "cas", "async", "wait_all", "commit_group", "wait_group", "warp", "v2", "v4", "v8", "satfinite", "rz", "rm", "rp",
    };
    int bit = 0;

    consteval modifier(const char * name) {
        while (std::string_view(name) != NAMES[bit]) ++bit; // past the end: does not compile
    }
};

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

    int         line;
    std::string text;

    bool has(modifier m) const { return mod_bits >> m.bit & 1; }
    type t(int i = 0) const { return i >= 0 && i < (int) types.size() ? types[i] : type::none; }
};

// of a register's lanes, at the start of a warp
struct literal {
    uint32_t at;
    uint8_t  size;
    uint64_t value;
};

struct program {
    std::string                     name;
    std::vector<instr>              code;
    std::vector<literal>            literals;
    std::map<std::string, uint32_t> specials; // %tid.x -> its register
    std::vector<size_t>             params;   // offsets
    std::vector<size_t>             param_sizes;
    size_t                          n_params    = 0; // bytes
    size_t                          n_registers = 0; // bytes of a warp
    size_t                          n_shared    = 0; // bytes, static
    size_t                          n_local     = 0; // bytes of a thread
    int                             max_threads = 1024;
};

using run_fn = void (*)(warp &, const instr &);

// the families of instructions, tried one after the other; null: not one of theirs
run_fn find_integer (const instr & in);
run_fn find_float   (const instr & in);
run_fn find_convert (const instr & in);
run_fn find_memory  (const instr & in);
run_fn find_warp    (const instr & in);
run_fn find_matrix  (const instr & in);

} // namespace ptx
