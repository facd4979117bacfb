// supports_op: what there are kernels for, and nothing else.

#include "cases.h"


#include "../ggml-h2o.h"
#include "device.h"

#include <climits>
#include <cstdio>

static bool is_attn_supported(ggml_type type_k, ggml_type type_v, int d) {
    const ggml_context_ptr ctx = new_context();

    ggml_tensor * q = ggml_new_tensor_4d(ctx.get(), GGML_TYPE_F32, d, 4, 4, 1);
    ggml_tensor * k = ggml_new_tensor_4d(ctx.get(), type_k, d, 4, 2, 1);
    ggml_tensor * v = ggml_new_tensor_4d(ctx.get(), type_v, d, 4, 2, 1);

    return device_supports(ggml_h2o_attn(ctx.get(), q, k, v, nullptr, nullptr, nullptr, false, true, true, 1.0f));
}

static bool is_select_supported(int n_mem, int n_chunk, int n_heavy) {
    const ggml_context_ptr ctx = new_context();

    ggml_tensor * mem_pos     = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_I32, n_mem,   2);
    ggml_tensor * mem_score   = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, n_mem,   2);
    ggml_tensor * chunk_score = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, n_chunk, 2);

    return device_supports(ggml_h2o_select(ctx.get(), mem_pos, mem_score, chunk_score,
                { n_mem, INT_MAX, n_mem, n_chunk }, n_mem + n_chunk, 16, n_heavy));
}

// the index and the sets of the policy query
static bool is_query_supported(ggml_type type, int d) {
    const ggml_context_ptr ctx = new_context();

    ggml_tensor * q         = ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, d, 4, 100);
    ggml_tensor * lse       = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 4, 100);
    ggml_tensor * k         = ggml_new_tensor_3d(ctx.get(), type, d, 600, 2);
    ggml_tensor * pages     = ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, d, 8, 2);
    ggml_tensor * landmarks = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_I32, 2*GGML_H2O_LANDMARKS, 2);

    const bool makes_pages = device_supports(ggml_h2o_pages(ctx.get(), k, pages, 0, 8));
    const bool makes_marks = device_supports(ggml_h2o_landmarks(ctx.get(), k, pages, landmarks, 0, 2));
    const bool makes_sets  = device_supports(ggml_h2o_query(ctx.get(), q, lse, k, pages, landmarks, 512, 64, 64, 1.0f));

    GGML_ASSERT(makes_pages == makes_marks && makes_pages == makes_sets && "part of the policy query is supported");
    return makes_sets;
}

static int check(bool expected, bool got, const char * what, int i, int j) {
    if (got != expected) {
        printf("FAIL support of %s, %d %d: %s\n", what, i, j, got ? "yes" : "no");
    }
    return got != expected;
}

int run_support_cases() {
    int n_wrong = 0;

    for (const int cc : { 610, 750, 860, 900 }) {
        set_device(cc, 16, 48*1024);

        for (const int d : { 32, 64, 72, 80, 96, 112, 128, 192, 256, 512 }) {
            const bool is_size = d == 64 || d == 80 || d == 96 || d == 128 || d == 256;

            for (const ggml_type type : { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 }) {
                n_wrong += check(is_size, is_attn_supported(type, type, d), "attn", type, d);
            }
            if (d % 32 == 0) { // other caches cannot be made
                n_wrong += check(is_size, is_attn_supported(GGML_TYPE_Q8_0,   GGML_TYPE_F16,  d), "attn with q8_0 keys",   d, cc);
                n_wrong += check(is_size, is_attn_supported(GGML_TYPE_F16,    GGML_TYPE_Q5_1, d), "attn with q5_1 values", d, cc);
                n_wrong += check(false,   is_attn_supported(GGML_TYPE_IQ4_NL, GGML_TYPE_F16,  d), "attn with iq4_nl keys", d, cc);
            }
        }

        for (const int d : { 32, 36, 40, 64, 72, 100, 256, 512 }) { // pieces of eight channels
            for (const ggml_type type : { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 }) {
                n_wrong += check(d % 8 == 0, is_query_supported(type, d), "query", type, d);
            }
            if (d % 32 == 0) {
                n_wrong += check(true,  is_query_supported(GGML_TYPE_Q4_0,   d), "query with q4_0 keys",   d, cc);
                n_wrong += check(false, is_query_supported(GGML_TYPE_IQ4_NL, d), "query with iq4_nl keys", d, cc);
            }
        }

        // 4 bytes per candidate and per place in Heavy
        n_wrong += check(true,  is_select_supported(4000,  4096, 1952), "select in 48 KiB", 4096, cc);
        n_wrong += check(false, is_select_supported(4000, 16384, 1952), "select in 48 KiB", 16384, cc);
        set_device(cc, 16, 99*1024);
        n_wrong += check(true,  is_select_supported(4000, 16384, 1952), "select in 99 KiB", 16384, cc);
    }
    return n_wrong;
}
