#include "h2o-index.h"

#include "h2o-rows.h"

#include "../ggml-h2o.h"

#include "ggml-cpu-impl.h"
#include "vec.h"

#include <algorithm>
#include <cmath>

// of this thread: two rows
static float * h2o_index_work(const ggml_compute_params * params, int64_t d) {
    return (float *) params->wdata + params->ith*2*d;
}

static void h2o_describe_page(const h2o_cells & keys, int64_t page, float * row, float * out) {
    std::fill(out, out + keys.d, 0.0f);

    for (int64_t i = 0; i < GGML_H2O_PAGE; ++i) {
        keys.read(page*GGML_H2O_PAGE + i, row);
        ggml_vec_acc_f32(keys.d, out, row);
    }
    ggml_vec_scale_f32(keys.d, out, 1.0f/GGML_H2O_PAGE);
}

void h2o_forward_pages(const ggml_compute_params * params, ggml_tensor * dst) {
    const ggml_h2o_index_params & p = *ggml_h2o_get_index_params(dst);
    const ggml_tensor           * k = dst->src[0];

    const int64_t n   = p.end - p.begin;
    float       * row = h2o_index_work(params, k->ne[0]);

    for (int64_t i = params->ith; i < n*k->ne[2]; i += params->nth) {
        const int64_t page = p.begin + i%n;

        h2o_describe_page(h2o_cells(k, i/n), page, row, (float *) ((char *) dst->data + page*dst->nb[1] + i/n*dst->nb[2]));
    }
}

// pages: those of the span
static void h2o_find_landmarks(const h2o_cells & keys, const float * pages, int64_t nb_page, int64_t span, float * work, int32_t * out) {
    struct landmark {
        float   cosine; // with the mean, which is as long for all of them
        int32_t pos;
    };

    float * mean = work;
    float * row  = work + keys.d;

    landmark found[GGML_H2O_SPAN];

    std::fill(mean, mean + keys.d, 0.0f);
    for (int i = 0; i < GGML_H2O_SPAN/GGML_H2O_PAGE; ++i) {
        ggml_vec_acc_f32(keys.d, mean, (const float *) ((const char *) pages + i*nb_page));
    }

    for (int i = 0; i < GGML_H2O_SPAN; ++i) {
        const int32_t pos = span*GGML_H2O_SPAN + i;

        float dot;
        float square;
        keys.read(pos, row);
        ggml_vec_dot_f32(keys.d, &dot,    0, row, 0, mean, 0, 1);
        ggml_vec_dot_f32(keys.d, &square, 0, row, 0, row,  0, 1);

        const float cosine = dot/sqrtf(square);
        found[i] = { std::isnan(cosine) ? INFINITY : cosine, pos };
    }

    std::nth_element(found, found + GGML_H2O_LANDMARKS, found + GGML_H2O_SPAN, [](const landmark & a, const landmark & b) {
        return a.cosine != b.cosine ? a.cosine < b.cosine : a.pos < b.pos;
    });
    for (int i = 0; i < GGML_H2O_LANDMARKS; ++i) {
        out[i] = found[i].pos;
    }
    std::sort(out, out + GGML_H2O_LANDMARKS);
}

void h2o_forward_landmarks(const ggml_compute_params * params, ggml_tensor * dst) {
    const ggml_h2o_index_params & p     = *ggml_h2o_get_index_params(dst);
    const ggml_tensor           * k     = dst->src[0];
    const ggml_tensor           * pages = dst->src[1];

    const int64_t n = p.end - p.begin;

    for (int64_t i = params->ith; i < n*k->ne[2]; i += params->nth) {
        const int64_t span = p.begin + i%n;

        h2o_find_landmarks(h2o_cells(k, i/n),
                (const float *) ((const char *) pages->data + i/n*pages->nb[2] + span*(GGML_H2O_SPAN/GGML_H2O_PAGE)*pages->nb[1]),
                pages->nb[1], span, h2o_index_work(params, k->ne[0]), (int32_t *) ((char *) dst->data + i/n*dst->nb[1]) + span*GGML_H2O_LANDMARKS);
    }
}

size_t h2o_index_work_size(const ggml_tensor * dst, int n_tasks) {
    return n_tasks*2*dst->src[0]->ne[0]*sizeof(float);
}
