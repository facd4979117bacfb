#include "h2o-cuda.cuh"
#include "h2o-index.cuh"

static h2o_index_args h2o_index_args_of(const ggml_tensor * dst) {
    const ggml_h2o_index_params & p = *ggml_h2o_get_index_params(dst);

    const ggml_tensor * k     = dst->src[0];
    const ggml_tensor * pages = dst->src[1];

    h2o_index_args args = {};

    args.k            = h2o_kv_of(k, false);
    args.d            = k->ne[0];
    args.pages        = (float *) pages->data;
    args.pages_stride = pages->nb[2]/sizeof(float);
    args.begin        = p.begin;
    args.end          = p.end;

    return args;
}

bool ggml_cuda_h2o_index_supported(const ggml_tensor * dst) {
    return h2o_reads_type(dst->src[0]->type, dst->src[0]->ne[0]);
}

void ggml_cuda_h2o_pages(ggml_backend_cuda_context & ctx, ggml_tensor * dst) {
    const h2o_index_args args = h2o_index_args_of(dst);

    const int n_pages = args.end - args.begin;

    const dim3 grid((n_pages + H2O_PAGES_OF_BLOCK - 1)/H2O_PAGES_OF_BLOCK, dst->src[0]->ne[2], 1);
    h2o_pages<<<grid, dim3(WARP_SIZE, H2O_PAGES_OF_BLOCK, 1), 0, ctx.stream()>>>(args);
}

void ggml_cuda_h2o_landmarks(ggml_backend_cuda_context & ctx, ggml_tensor * dst) {
    h2o_index_args args = h2o_index_args_of(dst);

    args.landmarks        = (int32_t *) dst->data;
    args.landmarks_stride = dst->nb[1]/sizeof(int32_t);

    const dim3 grid(args.end - args.begin, dst->src[0]->ne[2], 1);
    h2o_landmarks<<<grid, GGML_H2O_SPAN, args.d*sizeof(float), ctx.stream()>>>(args);
}
