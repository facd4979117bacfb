// Keys and values read from the cache as F32, whatever its type and
// layout: the gather of a memory set is nothing but reading other cells.

#pragma once

#include "h2o-kv.cuh"

// K or V of one head of one chunk
struct h2o_kv_head {
    const char    * data;
    const int32_t * set;

    // set: the cells of the keys; null: key i is cell i
    __device__ __forceinline__ h2o_kv_head(const h2o_kv & kv, int head, int chunk, const int32_t * set) :
        data(kv.data + head*kv.nb_head + chunk*kv.nb_chunk), set(set) {}

    // where the cell of a key begins
    __device__ __forceinline__ const char * at(const h2o_kv & kv, int key) const {
        return data + (set ? set[key] : key)*kv.nb_cell;
    }
};

// eight channels as they come from memory: what is fetched is not looked
// at until it is decoded, so that several fetches can be in flight
struct __align__(16) h2o_raw_8 {
    uint32_t word[8];
};

// channels [channel, channel + 8) of the cell
static __device__ __forceinline__ h2o_raw_8 h2o_fetch_8(const h2o_kv & kv, const char * cell, int channel) {
    h2o_raw_8 raw;

    if (kv.type == GGML_TYPE_Q8_0) {
        // block_q8_0: half d; int8_t qs[32]. Blocks are 34 bytes, so that nothing in them is aligned to more than 2.
        const uint16_t * block = (const uint16_t *) (cell + channel/32*34);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            raw.word[i] = block[1 + channel%32/2 + i];
        }
        raw.word[4] = block[0];
    } else if (kv.is_vec) {
        const uint4 * p = (const uint4 *) (cell + channel*kv.nb_channel);

        *(uint4 *) &raw.word[0] = p[0];
        if (kv.type == GGML_TYPE_F32) {
            *(uint4 *) &raw.word[4] = p[1];
        }
    } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const char * p = cell + (channel + i)*kv.nb_channel;

            raw.word[i] = kv.type == GGML_TYPE_F32 ? *(const uint32_t *) p : *(const uint16_t *) p;
        }
    }
    return raw;
}

static __device__ __forceinline__ float h2o_half_bits_to_float(uint32_t bits) {
    return __half2float(__ushort_as_half((uint16_t) bits));
}

static __device__ __forceinline__ void h2o_decode_8(const h2o_kv & kv, const h2o_raw_8 & raw, float (&x)[8]) {
    if (kv.type == GGML_TYPE_Q8_0) {
        const float d = h2o_half_bits_to_float(raw.word[4]);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            x[i] = d*(int8_t) (raw.word[i/2] >> i%2*8 & 0xff);
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        if (kv.type == GGML_TYPE_F32) {
            x[i] = __uint_as_float(raw.word[i]);
            continue;
        }
        const uint32_t bits = kv.is_vec ? raw.word[i/2] >> i%2*16 & 0xffff : raw.word[i];

        x[i] = kv.type == GGML_TYPE_BF16 ? __uint_as_float(bits << 16) : h2o_half_bits_to_float(bits);
    }
}

// channels [channel, channel + 8) of a key
static __device__ __forceinline__ void h2o_read_8(
        const h2o_kv & kv, const h2o_kv_head & head, int key, int channel, float (&x)[8]) {
    h2o_decode_8(kv, h2o_fetch_8(kv, head.at(kv, key), channel), x);
}
