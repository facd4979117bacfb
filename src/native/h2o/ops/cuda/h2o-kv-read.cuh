// Reads keys and values from the cache as F32, whatever its type and layout. Gathering a memory set is the same read at
// other cells.

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

// eight channels as they come from memory: what is fetched is not looked at until it is decoded, so that several
// fetches can be in flight
struct __align__(16) h2o_raw_8 {
    uint32_t word[8];
};

// A block of 32 channels of four or five bits: half d; half m of the types with a minimum; uint32_t of the fifth bits;
// uint8_t qs[16], channel i in the low bits of byte i, channel i + 16 in the high ones. Its parts as 16-bit words, for
// blocks are aligned to no more.
struct h2o_block_of_nibbles {
    bool has_min;
    bool has_fifth;

    __device__ __forceinline__ h2o_block_of_nibbles(ggml_type type) :
        has_min  (type == GGML_TYPE_Q4_1 || type == GGML_TYPE_Q5_1),
        has_fifth(type == GGML_TYPE_Q5_0 || type == GGML_TYPE_Q5_1) {}

    __device__ __forceinline__ int fifth()   const { return 1 + has_min; }
    __device__ __forceinline__ int nibbles() const { return 1 + has_min + 2*has_fifth; }
    __device__ __forceinline__ int size()    const { return nibbles() + 8; }

    // a value's offset where there is no minimum
    __device__ __forceinline__ int zero() const { return has_min ? 0 : has_fifth ? 16 : 8; }
};

// channels [channel, channel + 8) of the cell
static __device__ __forceinline__ h2o_raw_8 h2o_fetch_8(const h2o_kv & kv, const char * cell, int channel) {
    h2o_raw_8 raw;

    if (kv.is_vec) {
        const uint4 * p = (const uint4 *) (cell + channel*kv.nb_channel);

        *(uint4 *) &raw.word[0] = p[0];
        if (kv.type == GGML_TYPE_F32) {
            *(uint4 *) &raw.word[4] = p[1];
        }
    } else if (kv.type == GGML_TYPE_Q8_0) {
        // block_q8_0: half d; int8_t qs[32]; aligned to 2
        const uint16_t * block = (const uint16_t *) cell + channel/32*17;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            raw.word[i] = block[1 + channel%32/2 + i];
        }
        raw.word[4] = block[0];
    } else if (kv.is_nibbles) {
        const h2o_block_of_nibbles parts(kv.type);

        const uint16_t * block = (const uint16_t *) cell + channel/32*parts.size();
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            raw.word[i] = block[parts.nibbles() + channel%16/2 + i];
        }
        raw.word[4] = block[0];
        raw.word[5] = parts.has_min   ? block[1] : 0;
        raw.word[6] = parts.has_fifth ? block[parts.fifth()] | (uint32_t) block[parts.fifth() + 1] << 16 : 0;
        raw.word[7] = channel%32;
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
    if (kv.is_nibbles) {
        const h2o_block_of_nibbles parts(kv.type);

        const float    d     = h2o_half_bits_to_float(raw.word[4]);
        const float    m     = h2o_half_bits_to_float(raw.word[5]);
        const uint32_t fifth = raw.word[6] >> raw.word[7];
        const uint32_t shift = raw.word[7] < 16 ? 0 : 4;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const uint32_t bits = (raw.word[i/2] >> i%2*8 >> shift & 0xf) | (fifth >> i & 1) << 4;

            x[i] = d*((int) bits - parts.zero()) + m;
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
