// The instructions of tensor cores that upstream's tiles are made of, by the layouts of the PTX ISA, chapter "Warp
// Level Matrix Multiply-Accumulate Instructions".

#pragma once

#include "block.h"
#include "fail.h"

#include <cuda_fp16.h>

// ldmatrix.sync.aligned.m8n8.x4[.trans].shared.b16: four matrices of 8 x 8 halves. Lane 8*i + r brings the address of
// row r of matrix i; of each matrix a lane gets two neighbours of a row, with .trans of a column.
static inline void emu_ldmatrix_x4(uint32_t (&x)[4], const void * row_address, bool is_trans) {
    EMU_CHECK((uintptr_t) row_address % 16 == 0, "ldmatrix of a row that is not aligned");

    const uint16_t * const * rows = emu_exchange((const uint16_t *) row_address);

    const int lane = emu_lane();
    for (int i = 0; i < 4; ++i) {
        uint32_t e[2];
        for (int j = 0; j < 2; ++j) {
            const int major = lane/4;
            const int minor = lane%4*2 + j;

            e[j] = is_trans ? rows[8*i + minor][major] : rows[8*i + major][minor];
        }
        x[i] = e[0] | e[1] << 16;
    }
}

// what a lane brings to a product: 8 elements of A, 4 of B
struct emu_mma_operands {
    float a[8];
    float b[4];
};

static inline void emu_unpack(float * x, uint32_t word) {
    x[0] = __half2float(__ushort_as_half((unsigned short) word));
    x[1] = __half2float(__ushort_as_half((unsigned short) (word >> 16)));
}

// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: C [16, 8]
// += A [16, 16] * B [16, 8], with g = lane/4 and t = lane%4
//   a0 a1: row g,     k 2t, 2t+1      a2 a3: row g + 8      a4 a5: row g, k + 8      a6 a7: row g + 8, k + 8
//   b0 b1: column g,  k 2t, 2t+1      b2 b3: k + 8
//   c0 c1: row g,  columns 2t, 2t+1   c2 c3: row g + 8
static inline void emu_mma_m16n8k16(float * c, const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    emu_mma_operands mine;
    for (int i = 0; i < 4; ++i) {
        emu_unpack(mine.a + 2*i, a[i]);
    }
    for (int i = 0; i < 2; ++i) {
        emu_unpack(mine.b + 2*i, b[i]);
    }

    const emu_mma_operands * all = emu_exchange(mine);

    // row g and g + 8 of A, columns 2t and 2t + 1 of B: each lies with four lanes
    const emu_mma_operands * a_lanes  = all + emu_lane()/4*4;
    const emu_mma_operands * b0_lanes = all + emu_lane()%4*8;
    const emu_mma_operands * b1_lanes = b0_lanes + 4;

    for (int k0 = 0; k0 < 16; k0 += 8) {
        for (int i = 0; i < 4; ++i) {
            for (int j = 0; j < 2; ++j) { // k = k0 + 2*i + j
                const float x0 = a_lanes [i].a[k0/2 + j];
                const float x1 = a_lanes [i].a[k0/2 + j + 2];
                const float y0 = b0_lanes[i].b[k0/4 + j];
                const float y1 = b1_lanes[i].b[k0/4 + j];

                c[0] += x0*y0;
                c[1] += x0*y1;
                c[2] += x1*y0;
                c[3] += x1*y1;
            }
        }
    }
}
