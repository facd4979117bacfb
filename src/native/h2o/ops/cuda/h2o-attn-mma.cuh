// The first visit of the logits on tensor cores: output and row statistics, FlashAttention-2's way. A block of four
// warps owns a tile of rows and walks over the keys; logits, weights and output never leave registers.
//
// Logits are in units of log(2), so that exp is one instruction: q comes scaled by scale*log2(e).

#pragma once

#include "h2o-lanes.cuh"
#include "h2o-mma.cuh"
#include "h2o-tile-load.cuh"

#define H2O_LOG2E 1.4426950408889634f
#define H2O_LN2   0.6931471805599453f

// is_of_head: each query head has sets, so the rows of one are a block of queries
template <int D, bool is_of_head>
struct h2o_attn_shape {
    typedef h2o_tile_rows<D> rows;

    static constexpr int n_warps   = 4;
    static constexpr int n_threads = n_warps*WARP_SIZE;
    // tiles of 16 rows per warp: two of them read K and V half as often
    static constexpr int n_m       = D <= 128 && !is_of_head ? 2 : 1;
    static constexpr int n_rows    = n_warps*n_m*16;
    static constexpr int n_keys    = D <= 128 ? 64 : 32;

    // Keys from all over the cache are long in coming: two tiles of them and of values, one on its way, and then the
    // queries have to be in registers.
    static constexpr bool is_ahead = D <= 128 && is_of_head;
    static constexpr int  n_stages = is_ahead ? 2 : 1;

    static_assert(!is_ahead || n_rows <= n_keys, "the queries pass through a tile of keys");

    static constexpr size_t size_smem() {
        return ((is_ahead ? 0 : n_rows) + n_stages*2*n_keys)*rows::stride*sizeof(half2);
    }
};

// s and o of a row are in the elements l of its tiles with (l/2)%2 = i
template <int D, int N>
static __device__ __forceinline__ void h2o_softmax_step(
        h2o_tile_c (&s)[N], h2o_tile_c (&o)[D/16], float & m, float & l_sum, int i) {
    float m_new = m;

#pragma unroll
    for (int n = 0; n < N; ++n) {
        m_new = fmaxf(m_new, fmaxf(fmaxf(s[n].x[2*i], s[n].x[2*i + 1]), fmaxf(s[n].x[2*i + 4], s[n].x[2*i + 5])));
    }
    m_new = h2o_lanes_max<4>(m_new);

    const float rescale = exp2f(m - m_new); // 0 at the first tile, whose first key every row sees
    float       sum     = 0.0f;

#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            float & x = s[n].x[2*i + j%2 + j/2*4];

            x    = exp2f(x - m_new);
            sum += x;
        }
    }

    m     = m_new;
    l_sum = l_sum*rescale + sum; // of this lane's columns

#pragma unroll
    for (int n = 0; n < D/16; ++n) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            o[n].x[2*i + j%2 + j/2*4] *= rescale;
        }
    }
}

// one row of the result, with the previous state if there is one
template <int D, bool is_estimate>
static __device__ __forceinline__ void h2o_store_row(
        const h2o_attn_args & args, const h2o_tile_c (&o)[D/16], float m, float l_sum, int i, const h2o_rows & rows, int row, bool is_row, int lane) {
    const float l   = h2o_lanes_sum<4>(l_sum);
    const float lse = (m + log2f(l))*H2O_LN2;

    if (!is_row) {
        return;
    }
    const int64_t at_row = rows.at(row);

    if (lane%4 == 0) {
        args.lse[at_row] = is_estimate ? h2o_joint_lse(lse, args.lse_prev[at_row]) : lse;
    }

    const float share  = args.o_prev ? h2o_share(lse, args.lse_prev[at_row]) : 1.0f;
    const float weight = share/l;
    const float other  = args.o_prev ? h2o_share(args.lse_prev[at_row], lse) : 0.0f;

#pragma unroll
    for (int n = 0; n < D/16; ++n) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const int64_t at = at_row*D + n*16 + j*8 + lane%4*2;

            float2 x = make_float2(o[n].x[2*i + 4*j]*weight, o[n].x[2*i + 4*j + 1]*weight);

            if (args.o_prev) {
                const float2 y = *(const float2 *) (args.o_prev + at);

                x.x += y.x*other;
                x.y += y.y*other;
            }
            *(float2 *) (args.o + at) = x;
        }
    }
}

// grid: (heads, chunks, tiles of rows): what takes longest begins first, whatever its head and chunk;
//       is_of_head: (KV heads, blocks of queries, query heads of each); block: (32, 4)
// is_estimate: of GGML_H2O_OP_ESTIMATE
template <int D, bool is_of_head, bool is_estimate = false>
static __global__ void __launch_bounds__(h2o_attn_shape<D, is_of_head>::n_threads, 2) h2o_attn_mma(const h2o_attn_args args) {
#ifdef AMPERE_MMA_AVAILABLE
    using namespace ggml_cuda_mma;
    using shape    = h2o_attn_shape<D, is_of_head>;
    using operands = h2o_operands<typename shape::rows>;

    constexpr int stride = shape::rows::stride;
    constexpr int size   = shape::n_keys*stride; // of a tile of keys

    extern __shared__ uint4 h2o_smem[];
    half2 * tiles_k = (half2 *) h2o_smem;
    half2 * tiles_v = tiles_k + shape::n_stages*size;
    half2 * tile_q  = shape::is_ahead ? tiles_k + size : tiles_v + size;
    half2 * tile_k  = tiles_k;
    half2 * tile_v  = tiles_v;

    const int lane  = threadIdx.x;
    const int warp  = threadIdx.y;
    const int tid   = warp*WARP_SIZE + lane;
    const int head  = is_of_head ? blockIdx.x*args.n_per_kv + blockIdx.z : blockIdx.x;
    const int chunk = blockIdx.y;

    // the last rows see the most keys
    const int row0   = is_of_head ? 0 : (gridDim.z - 1 - blockIdx.z)*shape::n_rows;
    const int n_rows = min(shape::n_rows, h2o_n_rows(args, chunk) - row0);
    if (n_rows <= 0) {
        return; // behind a short chunk
    }

    const int64_t state = (int64_t) (chunk*args.n_head + head)*args.n_rows + row0; // in q_scaled

    const h2o_rows    rows(args, is_of_head ? args.order : nullptr, head, chunk);
    const h2o_kv_head k(args.k, blockIdx.x, chunk, h2o_set_at(args, head, chunk));
    const h2o_kv_head v(args.v, blockIdx.x, chunk, h2o_set_at(args, head, chunk));

    const int n_keys    = is_estimate ? args.n_left[chunk*args.n_head + head] : h2o_n_keys(args, head, chunk);
    const int n_vis     = h2o_n_visible(args, n_keys, row0 + n_rows); // of the last row
    const int n_vis_all = h2o_n_visible(args, n_keys, row0 + 1);      // of every row

    if constexpr (is_estimate) {
        if (n_keys == 0) {
            h2o_keep_state(args, rows, n_rows, D, 0, D, tid, shape::n_threads);
            return;
        }
    }

    h2o_load_tile_kv<typename shape::rows, shape::n_keys, shape::n_threads>(tile_k, args.k, k, 0, n_vis, tid);
    h2o_load_tile_q <typename shape::rows, shape::n_rows, shape::n_threads>(
            tile_q, args.q, rows, args.q_scaled ? args.q_scaled + state*D : nullptr, args.scale*H2O_LOG2E, row0, n_rows, tid);

    h2o_tile_c o[shape::n_m][D/16];
    float      m[shape::n_m][2];
    float      l[shape::n_m][2];

#pragma unroll
    for (int im = 0; im < shape::n_m; ++im) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            m[im][i] = -INFINITY;
            l[im][i] = 0.0f;
        }
    }

    const int row_warp = warp*shape::n_m*16; // of the tile

    const auto operands_q = operands::a(tile_q + row_warp*stride);

    h2o_tile_ab q[shape::is_ahead ? D/16 : 1];

    if constexpr (shape::is_ahead) {
        static_assert(!shape::is_ahead || shape::n_m == 1, "a tile of rows per warp");

        h2o_load_tile_kv<typename shape::rows, shape::n_keys, shape::n_threads>(tile_v, args.v, v, 0, n_vis, tid);
        __syncthreads(); // Q is there
#pragma unroll
        for (int d = 0; d < D/16; ++d) {
            h2o_load_a(q[d], operands_q.at(0, d));
        }
    }

    for (int key0 = 0; key0 < n_vis; key0 += shape::n_keys) {
        cp_async_wait_all();
        __syncthreads(); // K is there, with V if it was ahead, and nobody reads the last V any more

        const int key_next = key0 + shape::n_keys;

        if constexpr (shape::is_ahead) {
            const int next = key_next/shape::n_keys%2*size;

            if (key_next < n_vis) {
                h2o_load_tile_kv<typename shape::rows, shape::n_keys, shape::n_threads>(tiles_k + next, args.k, k, key_next, n_vis, tid);
                h2o_load_tile_kv<typename shape::rows, shape::n_keys, shape::n_threads>(tiles_v + next, args.v, v, key_next, n_vis, tid);
            }
            tile_k = tiles_k + size - next;
            tile_v = tiles_v + size - next;
        } else {
            h2o_load_tile_kv<typename shape::rows, shape::n_keys, shape::n_threads>(tile_v, args.v, v, key0, n_vis, tid);
        }

        h2o_tile_c s[shape::n_m][shape::n_keys/16];

        const auto operands_k = operands::b(tile_k);
        const auto operands_v = operands::a(tile_v);

        // all at once, the operands that are loaded ahead do not fit the registers
#pragma unroll (shape::is_ahead ? D/16 : 4)
        for (int d = 0; d < D/16; ++d) {
            h2o_tile_ab a[shape::n_m];
#pragma unroll
            for (int im = 0; im < shape::n_m; ++im) {
                if constexpr (shape::is_ahead) {
                    a[im] = q[d];
                } else {
                    h2o_load_a(a[im], operands_q.at(im*16, d));
                }
            }
#pragma unroll
            for (int n = 0; n < shape::n_keys/16; ++n) {
                h2o_tile_ab b;
                h2o_load_b(b, operands_k.at(n*16, d));
#pragma unroll
                for (int im = 0; im < shape::n_m; ++im) {
                    mma(s[im][n], a[im], b);
                }
            }
        }

        if constexpr (is_estimate) {
            const float * log_left = h2o_log_left_at(args, head, chunk) + key0 + lane%4*2;
#pragma unroll
            for (int n = 0; n < shape::n_keys/16; ++n) {
#pragma unroll
                for (int j = 0; j < 8; ++j) {
#pragma unroll
                    for (int im = 0; im < shape::n_m; ++im) {
                        s[im][n].x[j] += log_left[n*16 + j/4*8 + j%2];
                    }
                }
            }
        } else if (key0 + shape::n_keys > n_vis_all) {
#pragma unroll
            for (int im = 0; im < shape::n_m; ++im) {
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const int n_seen = h2o_n_visible(args, n_keys, row0 + row_warp + im*16 + i*8 + lane/4 + 1);
#pragma unroll
                    for (int n = 0; n < shape::n_keys/16; ++n) {
#pragma unroll
                        for (int j = 0; j < 4; ++j) {
                            if (key0 + n*16 + j/2*8 + lane%4*2 + j%2 >= n_seen) {
                                s[im][n].x[2*i + j%2 + j/2*4] = -INFINITY;
                            }
                        }
                    }
                }
            }
        }

#pragma unroll
        for (int im = 0; im < shape::n_m; ++im) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                h2o_softmax_step<D>(s[im], o[im], m[im][i], l[im][i], i);
            }
        }

        // the accumulators of 16 keys are laid out as the operand that has them inside
        h2o_tile_ab p[shape::n_m][shape::n_keys/16];

#pragma unroll
        for (int im = 0; im < shape::n_m; ++im) {
#pragma unroll
            for (int n = 0; n < shape::n_keys/16; ++n) {
#pragma unroll
                for (int r = 0; r < 4; ++r) {
                    p[im][n].x[r] = __floats2half2_rn(s[im][n].x[2*r], s[im][n].x[2*r + 1]);
                }
            }
        }

        if constexpr (!shape::is_ahead) {
            cp_async_wait_all();
            __syncthreads(); // V is there, and nobody reads K any more

            if (key_next < n_vis) {
                h2o_load_tile_kv<typename shape::rows, shape::n_keys, shape::n_threads>(tile_k, args.k, k, key_next, n_vis, tid);
            }
        }

#pragma unroll
        for (int n = 0; n < shape::n_keys/16; ++n) {
#pragma unroll
            for (int d = 0; d < D/16; ++d) {
                h2o_tile_ab b;
                h2o_load_b_trans(b, operands_v.at(n*16, d));
#pragma unroll
                for (int im = 0; im < shape::n_m; ++im) {
                    mma(o[im][d], p[im][n], b);
                }
            }
        }
    }

#pragma unroll
    for (int im = 0; im < shape::n_m; ++im) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int row = row_warp + im*16 + i*8 + lane/4;

            h2o_store_row<D, is_estimate>(args, o[im], m[im][i], l[im][i], i, rows, row0 + row, row < n_rows, lane);
        }
    }
#else
    GGML_UNUSED(args);
    NO_DEVICE_CODE;
#endif // AMPERE_MMA_AVAILABLE
}
