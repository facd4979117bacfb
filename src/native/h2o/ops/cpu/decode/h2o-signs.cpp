#include "h2o-signs.h"

#include "h2o-rows.h"

#include "ggml-cpu-impl.h"

#include <algorithm>
#include <cmath>

static constexpr int64_t N = GGML_H2O_PAGE;

void h2o_rotate(float * x, int64_t d, int64_t n) {
    const int64_t n_block = d & -d;

    for (int64_t h = 1; h < n_block; h *= 2) {
        for (int64_t j = 0; j < d; ++j) {
            if (j & h) {
                continue;
            }
            float * a = x + j*n;
            float * b = x + (j + h)*n;

            for (int64_t i = 0; i < n; ++i) {
                const float sum = a[i] + b[i];
                b[i] = a[i] - b[i];
                a[i] = sum;
            }
        }
    }
    const float scale = 1.0f/sqrtf(n_block);
    for (int64_t i = 0; i < d*n; ++i) {
        x[i] *= scale;
    }
}

// as far as F16 goes
static ggml_fp16_t h2o_to_fp16(float x) {
    return GGML_CPU_FP32_TO_FP16(x > 65504.0f ? 65504.0f : x < -65504.0f ? -65504.0f : x);
}

// work: [d][N] and a key
static void h2o_describe_page(const h2o_cells & keys, int64_t page, float * work, h2o_signs_page out) {
    const int64_t d = keys.d;

    float * x   = work; // channel by channel
    float * row = work + d*N;

    for (int64_t i = 0; i < N; ++i) {
        keys.read(page*N + i, row);
        for (int64_t j = 0; j < d; ++j) {
            x[j*N + i] = row[j];
        }
    }

    for (int64_t j = 0; j < d; ++j) {
        float sum = 0.0f;
        for (int64_t i = 0; i < N; ++i) {
            sum += x[j*N + i];
        }
        out.mean[j] = h2o_to_fp16(sum/N);

        const float mean = GGML_CPU_FP16_TO_FP32(out.mean[j]);
        for (int64_t i = 0; i < N; ++i) {
            x[j*N + i] -= mean;
        }
    }
    h2o_rotate(x, d, N);

    float sizes[N] = {};
    for (int64_t j = 0; j < d; ++j) {
        for (int64_t i = 0; i < N; ++i) {
            sizes[i] += fabsf(x[j*N + i]);
        }
    }
    for (int64_t i = 0; i < N; ++i) {
        out.scales[i] = h2o_to_fp16(sizes[i]/d);
    }

    for (int64_t j0 = 0; j0 < d; j0 += 4) {
        uint8_t * bits = out.bits + j0/4*(N/2);

        std::fill(bits, bits + N/2, 0);
        for (int64_t j = j0; j < std::min(j0 + 4, d); ++j) {
            for (int64_t i = 0; i < N/2; ++i) {
                bits[i] |= ((x[j*N + i] > 0.0f) | (x[j*N + i + N/2] > 0.0f) << 4) << (j - j0);
            }
        }
    }
}

void h2o_forward_signs(const ggml_compute_params * params, ggml_tensor * dst) {
    const ggml_tensor * k     = dst->src[0];
    const int32_t     * range = (const int32_t *) dst->src[1]->data;

    const int64_t n = std::max(0, range[1] - range[0]);

    float * work = (float *) params->wdata + params->ith*(N + 1)*k->ne[0];

    for (int64_t i = params->ith; i < n*k->ne[2]; i += params->nth) {
        const int64_t page = range[0] + i%n;

        h2o_describe_page(h2o_cells(k, i/n), page, work, h2o_signs_page(dst, k->ne[0], page, i/n));
    }
}

size_t h2o_signs_work_size(const ggml_tensor * dst, int n_tasks) {
    return n_tasks*(N + 1)*dst->src[0]->ne[0]*sizeof(float);
}
