#include "h2o-index.h"

#include "h2o-rows.h"

#include "../ggml-h2o.h"

#include "ggml-cpu-impl.h"
#include "vec.h"

#include <algorithm>

// of this thread: a row
static float * h2o_index_work(const ggml_compute_params * params, int64_t d) {
    return (float *) params->wdata + params->ith*d;
}

// sums of cells one after the other, in either layout
static void h2o_describe_page(const h2o_cells & cells, int64_t page, float * row, float * out) {
    std::fill(out, out + cells.d, 0.0f);

    for (int64_t i = 0; i < GGML_H2O_PAGE; ++i) {
        cells.read(page*GGML_H2O_PAGE + i, row);
        ggml_vec_acc_f32(cells.d, out, row);
    }
    ggml_vec_scale_f32(cells.d, out, 1.0f/GGML_H2O_PAGE);
}

static void h2o_describe_page_trans(const ggml_tensor * kv, int64_t ih, int64_t page, float * out) {
    float row[GGML_H2O_PAGE];

    for (int64_t j = 0; j < kv->ne[1]; ++j) {
        h2o_row_to_float(kv->type, (const char *) kv->data + page*GGML_H2O_PAGE*kv->nb[0] + j*kv->nb[1] + ih*kv->nb[2], row, GGML_H2O_PAGE);

        float sum = 0.0f;
        for (const float x : row) {
            sum += x;
        }
        out[j] = sum*(1.0f/GGML_H2O_PAGE);
    }
}

void h2o_forward_pages(const ggml_compute_params * params, ggml_tensor * dst) {
    const ggml_h2o_index_params & p  = *ggml_h2o_get_index_params(dst);
    const ggml_tensor           * kv = dst->src[0];

    const int64_t n   = p.end - p.begin;
    float       * row = h2o_index_work(params, dst->ne[0]);

    for (int64_t i = params->ith; i < n*kv->ne[2]; i += params->nth) {
        const int64_t page = p.begin + i%n;
        float       * out  = (float *) ((char *) dst->data + page*dst->nb[1] + i/n*dst->nb[2]);

        if (p.trans) {
            h2o_describe_page_trans(kv, i/n, page, out);
        } else {
            h2o_describe_page(h2o_cells(kv, i/n), page, row, out);
        }
    }
}

size_t h2o_index_work_size(const ggml_tensor * dst, int n_tasks) {
    return n_tasks*dst->ne[0]*sizeof(float);
}
