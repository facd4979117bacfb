#include "h2o-cuda.cuh"
#include "h2o-select.cuh"

#include <atomic>

static h2o_tracked_args h2o_tracked_args_of(const ggml_tensor * dst) {
    const ggml_tensor * mem_pos     = dst->src[0];
    const ggml_tensor * mem_score   = dst->src[1];
    const ggml_tensor * chunk_score = dst->src[2];

    return {
        (const int32_t *) mem_pos->data,
        (const float   *) mem_score->data,
        (const float   *) chunk_score->data,
        (int64_t) (mem_pos->nb[1]    /sizeof(int32_t)),
        (int64_t) (mem_score->nb[1]  /sizeof(float)),
        (int64_t) (chunk_score->nb[1]/sizeof(float)),
        ggml_h2o_get_op_params(dst)->tracked,
    };
}

static size_t h2o_select_smem_size(const ggml_tensor * dst) {
    const ggml_h2o_op_params & p = *ggml_h2o_get_op_params(dst);

    const size_t n_cand = (size_t) p.tracked.n_mem + p.tracked.n_chunk;

    return n_cand*sizeof(uint32_t) + std::min(n_cand, (size_t) p.n_heavy)*sizeof(int32_t);
}

bool ggml_cuda_h2o_select_supported(int device, const ggml_tensor * dst) {
    const size_t needed = h2o_select_smem_size(dst) + sizeof(h2o_select_top::shared);
    const size_t there  = ggml_cuda_info().devices[device].smpbo;

    static std::atomic<bool> is_said = false;
    if (needed > there && !is_said.exchange(true)) {
        GGML_LOG_WARN("%s: device %d has %zu bytes of shared memory, selection needs %zu: it runs on another backend\n",
                __func__, device, there, needed);
    }
    return needed <= there;
}

void ggml_cuda_h2o_select(ggml_backend_cuda_context & ctx, ggml_tensor * dst) {
    const ggml_h2o_op_params & p = *ggml_h2o_get_op_params(dst);

    const h2o_select_args args = {
        h2o_tracked_args_of(dst), p.pos, p.n_local, p.n_heavy,
        (int32_t *) dst->data, (int64_t) (dst->nb[1]/sizeof(int32_t)),
    };

    CUDA_SET_SHARED_MEMORY_LIMIT(h2o_select, ggml_cuda_info().devices[ctx.device].smpbo - sizeof(h2o_select_top::shared));

    h2o_select<<<dst->ne[1], H2O_SELECT_THREADS, h2o_select_smem_size(dst), ctx.stream()>>>(args);
}

void ggml_cuda_h2o_lookup(ggml_backend_cuda_context & ctx, ggml_tensor * dst) {
    const ggml_tensor * set = dst->src[3];

    const h2o_lookup_args args = {
        h2o_tracked_args_of(dst),
        (const int32_t *) set->data, (int64_t) (set->nb[1]/sizeof(int32_t)),
        (float         *) dst->data, (int64_t) (dst->nb[1]/sizeof(float)),
        (int) set->ne[0],
    };

    constexpr int n_threads = 256;

    const dim3 grid((args.n_set + n_threads - 1)/n_threads, dst->ne[1], 1);
    h2o_lookup<<<grid, n_threads, 0, ctx.stream()>>>(args);
}
