// Where the index and the search of the policy `query` can run.

#include "h2o-policy-query.h"

#include "ops/ggml-h2o.h"

#include "ggml-backend.h"
#include "ggml-cpp.h"

bool h2o_policy_query::runs_index_on(ggml_backend_dev_t dev, const h2o_layer_shape & shape) const {
    if (!dev) {
        return true;
    }
    if (shape.d_k % ggml_blck_size(shape.type_k) != 0 || shape.d_v % ggml_blck_size(shape.type_v) != 0) {
        return false;
    }
    const ggml_context_ptr ctx = ggml_context_ptr(ggml_init({ 16*ggml_tensor_overhead(), nullptr, true }));

    const int64_t n_cells = 4*GGML_H2O_PAGE;

    ggml_tensor * q     = ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, shape.d_k, 1, GGML_H2O_BLOCK);
    ggml_tensor * lse   = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 1, GGML_H2O_BLOCK);
    ggml_tensor * k     = ggml_new_tensor_3d(ctx.get(), shape.type_k, shape.d_k, n_cells, 1);
    ggml_tensor * v     = ggml_new_tensor_3d(ctx.get(), shape.type_v, shape.d_v, n_cells, 1);

    const auto means = [&](ggml_tensor * kv) {
        ggml_tensor * pages = ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, kv->ne[0], n_cells/GGML_H2O_PAGE, 1);

        return ggml_h2o_pages(ctx.get(), kv, pages, false, 0, n_cells/GGML_H2O_PAGE);
    };
    ggml_tensor * pages  = means(k);
    ggml_tensor * values = means(v);

    ggml_tensor * order = ggml_h2o_order(ctx.get(), q);
    ggml_tensor * sets  = ggml_h2o_query(ctx.get(), q, order, lse, k, pages, n_cells, 64, 64, 1.0f);

    ggml_tensor * o         = ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, shape.d_v, 1, GGML_H2O_BLOCK);
    ggml_tensor * estimates = ggml_h2o_estimate(ctx.get(), q, pages, values, sets, order, o, lse, n_cells, 1.0f);

    const auto runs = [&](const ggml_tensor * t) { return ggml_backend_dev_supports_op(dev, t); };

    return runs(pages) && runs(values) && runs(order) && runs(sets) && runs(estimates);
}
