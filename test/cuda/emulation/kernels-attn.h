// What both families of attention kernels need of a launcher.

#pragma once

#include "kernels.h"
#include "launch.h"

static inline unsigned emu_n_tiles(int n, int n_tile) {
    return (n + n_tile - 1)/n_tile;
}

static inline size_t emu_n_votes(const h2o_attn_args & args) {
    return (size_t) args.n_keys*args.n_head*args.n_chunks;
}

// -> args.votes_split, null where there is nothing to sum
static inline float * emu_votes_split(const h2o_attn_args & args, const emu_buffer & buffer) {
    return args.n_split > 1 ? buffer.as<float>() : nullptr;
}

void emu_votes_sum(const h2o_attn_args & args);

// The head size as a constant. EMU_HEAD_SIZE: only that one is compiled.
template <template <int> class launcher>
static void emu_for_head_size(const h2o_attn_args & args, int d) {
    switch (d) {
#ifdef EMU_HEAD_SIZE
        case EMU_HEAD_SIZE: launcher<EMU_HEAD_SIZE>::launch(args); break;
#else
        case  64: launcher< 64>::launch(args); break;
        case  80: launcher< 80>::launch(args); break;
        case  96: launcher< 96>::launch(args); break;
        case 128: launcher<128>::launch(args); break;
        case 256: launcher<256>::launch(args); break;
#endif
        default: EMU_CHECK(false, "no kernel for this head size");
    }
}
