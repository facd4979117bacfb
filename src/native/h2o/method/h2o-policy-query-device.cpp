// Where the index and the search of the policy `query` can run.

#include "h2o-policy-query.h"

#include "ops/ggml-h2o.h"

#include "ggml-backend.h"
#include "ggml-cpp.h"

bool h2o_policy_query::runs_index_on(ggml_backend_dev_t dev, const h2o_layer_shape & shape) const {
    if (!dev) {
        return true;
    }
    if (shape.d_k % ggml_blck_size(shape.type_k) != 0) {
        return false;
    }
    const ggml_context_ptr ctx = ggml_context_ptr(ggml_init({ 16*ggml_tensor_overhead(), nullptr, true }));

    const int64_t n_cells = 2*GGML_H2O_SPAN;

    ggml_tensor * q         = ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, shape.d_k, 1, GGML_H2O_BLOCK);
    ggml_tensor * lse       = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 1, GGML_H2O_BLOCK);
    ggml_tensor * k         = ggml_new_tensor_3d(ctx.get(), shape.type_k, shape.d_k, n_cells, 1);
    ggml_tensor * pages     = ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, shape.d_k, n_cells/GGML_H2O_PAGE, 1);
    ggml_tensor * landmarks = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_I32, 2*GGML_H2O_LANDMARKS, 1);

    pages     = ggml_h2o_pages    (ctx.get(), k, pages, 0, n_cells/GGML_H2O_PAGE);
    landmarks = ggml_h2o_landmarks(ctx.get(), k, pages, landmarks, 0, 2);

    return ggml_backend_dev_supports_op(dev, pages) && ggml_backend_dev_supports_op(dev, landmarks) &&
        ggml_backend_dev_supports_op(dev, ggml_h2o_query(ctx.get(), q, lse, k, pages, landmarks, n_cells, 64, 64, 1.0f));
}
