#include "h2o-attn.cuh"
#include "h2o-votes-sum.cuh"

#include "../ggml-h2o.h"

static int64_t h2o_head_size(const ggml_tensor * dst) {
    return dst->src[0]->ne[0];
}

static bool h2o_has_head_size(int64_t d) {
    return h2o_with_head_size(d, [](auto) {});
}

// F32 keys or values keep their precision on the plain path
static bool h2o_uses_mma(int device, const ggml_tensor * dst) {
    return ampere_mma_available(ggml_cuda_info().devices[device].cc) &&
        dst->src[1]->type != GGML_TYPE_F32 && dst->src[2]->type != GGML_TYPE_F32;
}

bool ggml_cuda_h2o_attn_supported(int device, const ggml_tensor * dst) {
    const ggml_h2o_attn_params & p = *ggml_h2o_get_attn_params(dst);

    const int64_t d   = h2o_head_size(dst);
    const int64_t d_v = dst->src[2]->ne[p.v_trans ? 1 : 0];

    GGML_UNUSED(device); // each one has a path: tensor cores want 70 KiB of shared memory, all chips from Ampere on have 99

    return d == d_v && h2o_has_head_size(d) && h2o_reads_type(dst->src[1]->type, d) && h2o_reads_type(dst->src[2]->type, d);
}

static h2o_attn_args h2o_attn_args_of(const ggml_tensor * dst) {
    const ggml_h2o_attn_params & p = *ggml_h2o_get_attn_params(dst);

    const ggml_tensor * q     = dst->src[0];
    const ggml_tensor * k     = dst->src[1];
    const ggml_tensor * v     = dst->src[2];
    const ggml_tensor * set   = dst->src[3];
    const ggml_tensor * order = dst->src[6];

    const int64_t n_head  = set ? set->ne[1] : k->ne[2];
    const int64_t n_group = q->ne[1]/n_head;
    const int64_t n_state = q->ne[1]*q->ne[2]*q->ne[3];

    h2o_attn_args args = {};

    args.q                = (const float *) q->data;
    args.k                = h2o_kv_of(k, false);
    args.v                = h2o_kv_of(v, p.v_trans);
    args.set              = set ? (const int32_t *) set->data : nullptr;
    args.set_stride       = set ? set->nb[1]/sizeof(int32_t) : 0;
    args.set_stride_chunk = set ? set->nb[2]/sizeof(int32_t) : 0;
    args.order            = order ? (const int32_t *) order->data : nullptr;
    args.o_prev           = dst->src[4] ? (const float *) dst->src[4]->data : nullptr;
    args.lse_prev         = dst->src[5] ? (const float *) dst->src[5]->data : nullptr;
    args.o                = (float *) dst->data;
    args.lse              = args.o + n_state*h2o_head_size(dst);
    args.votes            = p.votes ? args.lse + n_state : nullptr;
    args.n_rows           = q->ne[2]*n_group;
    args.n_rows_all       = args.n_rows*q->ne[3];
    args.n_keys           = set ? set->ne[0] : k->ne[1];
    args.n_near           = p.causal ? k->ne[1] - q->ne[2] : 0;
    args.n_head           = n_head;
    args.n_per_kv         = n_head/k->ne[2];
    args.n_chunks         = q->ne[3];
    args.n_group          = n_group;
    args.n_split          = 1;
    args.causal           = p.causal;
    args.scale            = p.scale;

    if (set && set->ne[2] > 1) {
        args.n_chunks   = set->ne[2];
        args.n_rows     = GGML_H2O_BLOCK*n_group;
        args.k.nb_chunk = 0;
        args.v.nb_chunk = 0;
    }
    return args;
}

int h2o_n_split(const h2o_attn_args & args, int device, int n_keys_of_tile, int n_rows_of_tile) {
    // of one chunk: the votes of a chunk must not depend on how many others are in the batch
    const int64_t n_tiles  = (int64_t) (args.n_keys + n_keys_of_tile - 1)/n_keys_of_tile*args.n_head;
    const int64_t n_wanted = 2ll*ggml_cuda_info().devices[device].nsm;

    // a part should be worth its partial votes
    const int64_t n_max = std::max(1, args.n_rows/(4*n_rows_of_tile));

    return (int) std::min(n_max, std::max<int64_t>(1, n_wanted/n_tiles));
}

void h2o_launch_votes_sum(ggml_backend_cuda_context & ctx, const h2o_attn_args & args) {
    if (args.n_split == 1) {
        return;
    }

    constexpr int n_threads = 256;

    const int n_votes = args.n_keys*args.n_head*args.n_chunks;

    h2o_votes_sum<<<(n_votes + n_threads - 1)/n_threads, n_threads, 0, ctx.stream()>>>(
            args.votes_split, args.votes, n_votes, args.n_split);
}

void ggml_cuda_h2o_attn(ggml_backend_cuda_context & ctx, ggml_tensor * dst) {
    const h2o_attn_args args = h2o_attn_args_of(dst);
    const int           d    = h2o_head_size(dst);

    GGML_ASSERT((uintptr_t) args.q % 16 == 0 && (uintptr_t) args.o % 16 == 0 && (uintptr_t) args.o_prev % 16 == 0);

    if (h2o_uses_mma(ctx.device, dst)) {
        h2o_launch_attn_mma(ctx, args, d);
    } else {
        h2o_launch_attn_plain(ctx, args, d);
    }
}
