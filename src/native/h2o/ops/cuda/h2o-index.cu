#include "h2o-cuda.cuh"
#include "h2o-index.cuh"

bool ggml_cuda_h2o_pages_supported(const ggml_tensor * dst) {
    return h2o_reads_type(dst->src[0]->type, dst->src[1]->ne[0]);
}

void ggml_cuda_h2o_pages(ggml_backend_cuda_context & ctx, ggml_tensor * dst) {
    const ggml_h2o_index_params & p = *ggml_h2o_get_index_params(dst);

    const ggml_tensor * kv    = dst->src[0];
    const ggml_tensor * pages = dst->src[1];

    const h2o_pages_args args = {
        h2o_kv_of(kv, p.trans), (int) pages->ne[0],
        (float *) pages->data, (int64_t) (pages->nb[2]/sizeof(float)),
        p.begin, p.end,
    };

    const int n_pages = p.end - p.begin;

    const dim3 grid((n_pages + H2O_PAGES_OF_BLOCK - 1)/H2O_PAGES_OF_BLOCK, kv->ne[2], 1);
    h2o_pages<<<grid, dim3(WARP_SIZE, H2O_PAGES_OF_BLOCK, 1), 0, ctx.stream()>>>(args);
}
