// Keys and values read from the cache as F32, whatever its type and layout: the gather of a memory set is nothing but
// reading other cells.

#pragma once

#include "h2o-attn-args.cuh"

// K or V of one head of one chunk
struct h2o_kv_head {
    const char    * data;
    const int32_t * set;

    __device__ __forceinline__ h2o_kv_head(const h2o_attn_args & args, const h2o_kv & kv, int head, int chunk) :
        data(kv.data + head*kv.nb_head + chunk*kv.nb_chunk),
        set(args.set ? args.set + head*args.set_stride : nullptr) {}

    // where the cell of a key begins
    __device__ __forceinline__ const char * at(const h2o_kv & kv, int key) const {
        return data + (set ? set[key] : key)*kv.nb_cell;
    }
};

static __device__ __forceinline__ float h2o_read_1(ggml_type type, const char * p) {
    switch (type) {
        case GGML_TYPE_F16:  return __half2float(*(const half *) p);
        case GGML_TYPE_BF16: return __uint_as_float((uint32_t) *(const uint16_t *) p << 16);
        default:             return *(const float *) p;
    }
}

// block_q8_0: half d; int8_t qs[32]. Blocks are 34 bytes, so that nothing in them is aligned to more than 2.
static __device__ __forceinline__ void h2o_read_8_q8_0(const char * cell, int channel, float (&x)[8]) {
    const char     * block = cell + channel/32*34;
    const uint16_t * qs    = (const uint16_t *) (block + 2 + channel%32);

    const float d = __half2float(*(const half *) block);

#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const uint32_t pair = qs[i];

        x[2*i + 0] = d*(int8_t) (pair & 0xff);
        x[2*i + 1] = d*(int8_t) (pair >> 8);
    }
}

static __device__ __forceinline__ void h2o_read_8_vec(ggml_type type, const char * p, float (&x)[8]) {
    if (type == GGML_TYPE_F32) {
        *(float4 *) &x[0] = ((const float4 *) p)[0];
        *(float4 *) &x[4] = ((const float4 *) p)[1];
        return;
    }

    const uint4    raw     = *(const uint4 *) p;
    const uint32_t word[4] = { raw.x, raw.y, raw.z, raw.w };

#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (type == GGML_TYPE_BF16) {
            x[2*i + 0] = __uint_as_float(word[i] << 16);
            x[2*i + 1] = __uint_as_float(word[i] & 0xffff0000);
        } else {
            const float2 pair = __half22float2(*(const half2 *) &word[i]);

            x[2*i + 0] = pair.x;
            x[2*i + 1] = pair.y;
        }
    }
}

// channels [channel, channel + 8) of a key
static __device__ __forceinline__ void h2o_read_8(
        const h2o_kv & kv, const h2o_kv_head & head, int key, int channel, float (&x)[8]) {
    const char * cell = head.at(kv, key);

    if (kv.type == GGML_TYPE_Q8_0) {
        h2o_read_8_q8_0(cell, channel, x);
    } else if (kv.is_vec) {
        h2o_read_8_vec(kv.type, cell + channel*kv.nb_channel, x);
    } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            x[i] = h2o_read_1(kv.type, cell + (channel + i)*kv.nb_channel);
        }
    }
}
