// Each step of the method on the first GPU (or the CPU), at the shapes of one layer: microseconds, and beside them the work
// of a launch, as comparison/shapes.py reckons it: MFLOP, and MB where everything is read and written once. Beside it
// stock's flash attention over one chunk: two products, no votes, and nothing above the diagonal left out.
//
//   op-bench [N_HEAD_KV N_GROUP HEAD_SIZE [S CELLS LAUNCHES ROUNDS]]     default: 8 4 128 1024 16384 20 5, Qwen3-8B
//
// On the interpreter of test/cuda, a row for each kernel of a step follows: what a launch took. Ends with 1 if a step was not
// measured.

#include "random-values.h"

#include "../../src/native/h2o/ops/ggml-h2o.h"

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

static const int N_LOCAL = 256;
static const int N_HEAVY = 256;

// of the policy query
static const int N_LOCAL_QUERY = 128;
static const int N_HEAVY_QUERY = 640;

static int n_head  = 8;
static int n_group = 4;
static int d       = 128;

static int S          = 1024;
static int N_CELLS    = 16384;
static int n_launches = 20; // of a step, so that they overlap as they do in a graph
static int n_rounds   = 5;  // of which the fastest counts

struct step_work {
    double products; // of a query head with a key or a value
    double bytes;
};

// bytes of n positions, in the cache and of queries
static double rows_of(double n, ggml_type type) { return n*n_head*ggml_row_size(type, d); }
static double queries_of(double n)              { return n*n_head*n_group*d*sizeof(float); }

extern "C" __attribute__((weak)) void executor_print_costs();

static const char * const ORDER = "order"; // of queries

static bool is_complete = true;

static void fill(ggml_tensor * t) {
    static std::map<ggml_type, random_values> sources;

    std::vector<char> data(ggml_nbytes(t));
    if (t->type == GGML_TYPE_I32) { // ascending cells, or a block of queries from all over the chunk
        const int64_t n_row = strcmp(t->name, ORDER) == 0 ? GGML_H2O_BLOCK : t->ne[0];
        for (int64_t i = 0; i < ggml_nelements(t); ++i) {
            ((int32_t *) data.data())[i] = n_row == t->ne[0] ? i % n_row * (N_CELLS/n_row) : i % n_row * (S/n_row) + i / n_row % (S/n_row);
        }
    } else {
        sources.try_emplace(t->type, t->type).first->second.fill(data.data(), data.size());
    }
    ggml_backend_tensor_set(t, data.data(), 0, data.size());
}

static void measure(
        ggml_backend_t backend, const char * name, const step_work & work, const std::function<ggml_tensor *(ggml_context *)> & build) {
    ggml_context_ptr ctx(ggml_init({ 4096*ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true }));

    ggml_cgraph * gf = ggml_new_graph(ctx.get());
    for (int i = 0; i < n_launches; ++i) {
        ggml_tensor * t = build(ctx.get());
        if (!ggml_backend_supports_op(backend, t)) {
            printf("%-34s not supported\n", name);
            is_complete = false;
            return;
        }
        ggml_build_forward_expand(gf, t);
    }

    ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(ctx.get(), backend));
    if (!buffer) {
        printf("%-34s not enough memory\n", name);
        is_complete = false;
        return;
    }
    for (ggml_tensor * t = ggml_get_first_tensor(ctx.get()); t; t = ggml_get_next_tensor(ctx.get(), t)) {
        if (t->op == GGML_OP_NONE && !t->view_src) {
            fill(t);
        }
    }

    double best = INFINITY;
    for (int i = 0; i < n_rounds; ++i) {
        const auto start = std::chrono::steady_clock::now();
        ggml_backend_graph_compute(backend, gf);
        ggml_backend_synchronize(backend);

        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        best = std::min(best, time.count()/n_launches);
    }

    const double flop = 2.0*d*n_head*n_group*work.products;
    printf("%-34s %10.1f us %8.1f TFLOP/s; work: %.1f MFLOP, %.2f MB\n", name, best*1e6, flop/best/1e12, flop/1e6, work.bytes/1e6);
    if (executor_print_costs) {
        executor_print_costs();
    }
}

static void measure_attn(ggml_backend_t backend, ggml_type type, const char * name_intra, const char * name_inter) {
    const int n_chunks = 4;
    const int n_mem    = N_LOCAL + N_HEAVY;

    const auto cache = [=](ggml_context * ctx, int pos, int n, int n_chunks) {
        ggml_tensor * t = ggml_new_tensor_2d(ctx, type, d*n_head, N_CELLS);
        return ggml_view_4d(ctx, t, d, n, n_head, n_chunks, t->nb[1], ggml_row_size(type, d), n*t->nb[1], pos*t->nb[1]);
    };

    const auto intra = [=](ggml_context * ctx) {
        ggml_tensor * q = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, d, n_head*n_group, S, n_chunks);
        return ggml_h2o_attn(ctx, q, cache(ctx, S, S, n_chunks), cache(ctx, S, S, n_chunks), nullptr, nullptr, nullptr, nullptr, false,
                true, true, 1.0f/std::sqrt((float) d));
    };
    measure(backend, name_intra, { 1.5*n_chunks*S*(S + 1), queries_of(2*n_chunks*S) + rows_of(2*n_chunks*S, type) }, intra);

    const auto inter = [=](ggml_context * ctx) {
        ggml_tensor * q   = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d, n_head*n_group, S);
        ggml_tensor * set = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, n_mem, n_head);
        ggml_tensor * o   = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d, n_head*n_group, S);
        ggml_tensor * lse = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, n_head*n_group, S);
        return ggml_h2o_attn(ctx, q, cache(ctx, 0, N_CELLS, 1), cache(ctx, 0, N_CELLS, 1), set, nullptr, o, lse, false, false,
                true, 1.0f/std::sqrt((float) d));
    };
    measure(backend, name_inter, { 3.0*S*n_mem, queries_of(3*S) + rows_of(2*n_mem, type) }, inter);
}

// the policy query: a chunk at the end of the cache
static void measure_query(ggml_backend_t backend) {
    const ggml_type type = GGML_TYPE_F16;

    const float scale = 1.0f/std::sqrt((float) d);
    const int   pos   = N_CELLS - S;

    const int    n_cand  = pos - N_LOCAL_QUERY;
    const double n_means = (double) n_cand/GGML_H2O_PAGE;
    const double n_sets  = S/GGML_H2O_BLOCK*n_group; // that read one KV head

    const auto cache = [=](ggml_context * ctx, ggml_type type) {
        ggml_tensor * t = ggml_new_tensor_2d(ctx, type, d*n_head, N_CELLS);
        return ggml_view_3d(ctx, t, d, N_CELLS, n_head, t->nb[1], ggml_row_size(type, d), 0);
    };
    const auto pages = [=](ggml_context * ctx) {
        return ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d, N_CELLS/GGML_H2O_PAGE, n_head);
    };
    const auto queries = [=](ggml_context * ctx) {
        return ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d, n_head*n_group, S);
    };
    const auto order = [=](ggml_context * ctx) {
        return ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_I32, S, n_head*n_group), ORDER);
    };
    const auto row_sums = [=](ggml_context * ctx) {
        return ggml_new_tensor_2d(ctx, GGML_TYPE_F32, n_head*n_group, S);
    };

    measure(backend, "query: pages of a chunk", { 0, rows_of(S, type) }, [=](ggml_context * ctx) {
        return ggml_h2o_pages(ctx, cache(ctx, type), pages(ctx), false, pos/GGML_H2O_PAGE, N_CELLS/GGML_H2O_PAGE);
    });
    measure(backend, "query: order of a chunk", { 0, queries_of(S) }, [=](ggml_context * ctx) {
        return ggml_h2o_order(ctx, queries(ctx));
    });
    const auto search = [=](ggml_type type, const char * name) {
        const step_work work = { S*(n_cand + n_means), queries_of(S) + rows_of(n_cand, type) };
        measure(backend, name, work, [=](ggml_context * ctx) {
            return ggml_h2o_query(ctx, queries(ctx), order(ctx), row_sums(ctx), cache(ctx, type), pages(ctx), pos, N_LOCAL_QUERY, N_HEAVY_QUERY, scale);
        });
    };
    search(GGML_TYPE_F16,  "query: sets of a chunk, f16");
    search(GGML_TYPE_BF16, "query: sets of a chunk, bf16"); // as other types do, it goes through F16
    const auto sets = [=](ggml_context * ctx) {
        return ggml_new_tensor_3d(ctx, GGML_TYPE_I32, N_HEAVY_QUERY, n_head*n_group, S/GGML_H2O_BLOCK);
    };
    const step_work estimate = { 2.0*S*n_means, queries_of(3*S) + rows_of(2*n_means, GGML_TYPE_F32) };
    measure(backend, "query: estimate", estimate, [=](ggml_context * ctx) {
        return ggml_h2o_estimate(ctx, queries(ctx), pages(ctx), pages(ctx), sets(ctx), order(ctx), queries(ctx), row_sums(ctx), n_cand, scale);
    });
    const step_work inter = { 2.0*S*N_HEAVY_QUERY, queries_of(3*S) + rows_of(n_sets*2*N_HEAVY_QUERY, type) };
    measure(backend, "query: inter, a set per block", inter, [=](ggml_context * ctx) {
        return ggml_h2o_attn(ctx, queries(ctx), cache(ctx, type), cache(ctx, type), sets(ctx), order(ctx), queries(ctx), row_sums(ctx), false, false,
                false, scale);
    });
}

int main(int argc, char ** argv) {
    int * const values[] = { &n_head, &n_group, &d, &S, &N_CELLS, &n_launches, &n_rounds };
    for (int i = 1; i < argc && i <= (int) std::size(values); ++i) {
        *values[i - 1] = atoi(argv[i]);
    }
    setvbuf(stdout, nullptr, _IOLBF, BUFSIZ); // what was measured is out before anything aborts
    ggml_backend_load_all();

    ggml_backend_ptr backend(ggml_backend_init_best());
    printf("%s: %d KV heads, group of %d, head size %d, S=%d, M=%d\n", ggml_backend_name(backend.get()), n_head, n_group, d, S,
            N_LOCAL + N_HEAVY);

    measure_attn(backend.get(), GGML_TYPE_F16,  "intra, 4 chunks, f16",  "inter, 1 chunk, f16");
    measure_attn(backend.get(), GGML_TYPE_BF16, "intra, 4 chunks, bf16", "inter, 1 chunk, bf16");
    measure_attn(backend.get(), GGML_TYPE_Q8_0, "intra, 4 chunks, q8_0", "inter, 1 chunk, q8_0");

    const int n_mem = N_LOCAL + N_HEAVY;
    const ggml_h2o_tracked tracked = { n_mem, N_CELLS, 8*S, S };

    measure(backend.get(), "selection", {}, [=](ggml_context * ctx) {
        return ggml_h2o_select(ctx, ggml_new_tensor_2d(ctx, GGML_TYPE_I32, n_mem, n_head), ggml_new_tensor_2d(ctx, GGML_TYPE_F32, n_mem, n_head),
                ggml_new_tensor_2d(ctx, GGML_TYPE_F32, S, n_head), tracked, 9*S, N_LOCAL, N_HEAVY);
    });
    measure(backend.get(), "lookup", {}, [=](ggml_context * ctx) {
        return ggml_h2o_lookup(ctx, ggml_new_tensor_2d(ctx, GGML_TYPE_I32, n_mem, n_head), ggml_new_tensor_2d(ctx, GGML_TYPE_I32, n_mem, n_head),
                ggml_new_tensor_2d(ctx, GGML_TYPE_F32, n_mem, n_head), ggml_new_tensor_2d(ctx, GGML_TYPE_F32, S, n_head), tracked);
    });
    measure_query(backend.get());

    const step_work stock = { 2.0*S*S, queries_of(2*S) + rows_of(2*S, GGML_TYPE_F16) + sizeof(ggml_fp16_t)*S*S };
    measure(backend.get(), "stock flash attention, S x S", stock, [](ggml_context * ctx) {
        ggml_tensor * q    = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, d, S, n_head*n_group);
        ggml_tensor * k    = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, d, S, n_head);
        ggml_tensor * v    = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, d, S, n_head);
        ggml_tensor * mask = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, S, S);
        return ggml_flash_attn_ext(ctx, q, k, v, mask, 1.0f/std::sqrt((float) d), 0.0f, 0.0f);
    });

    return is_complete ? 0 : 1;
}
