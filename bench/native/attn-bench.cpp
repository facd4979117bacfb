// attn-bench: the fused attention of H2O against stock's flash attention on the same pairs of queries and keys,
// operator against operator, on the CPU. Built by `npm run bench:native`.
//
//   attn-bench [--select query|votes] [-t N] [-r N] [-S N] [-M N] [-d N] [--heads N] [--kv-heads N] [-ctk f16|f32]
//
//   intra   S queries, each with the keys of its chunk up to itself; stock sees a causal mask
//   inter   S queries with M keys each; ours reads them by index out of a cache of 8 S, stock finds them side by side.
//           With votes the keys are a KV head's, with query those of 64 queries of a query head
//
// Ours also gives row statistics, and with votes their column sums. A repetition runs all of it in turns; shown are medians,
// with the lowest and highest. A pair of a query and a key is 4 d operations per query head. The error is the normalised
// mean square of the outputs of eight queries against double precision.

#include "fma-peak.h"
#include "process-usage.h"
#include "spread.h"

#include "ops/ggml-h2o.h"

#include "ggml-cpp.h"
#include "ggml-cpu.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

struct options {
    int n_threads = 2;
    int n_rep     = 15;
    int n_chunk   = 1024;
    int n_mem     = 512;
    int d_head    = 128;
    bool votes    = false;
    int n_head    = 16;
    int n_head_kv = 8;

    ggml_type type = GGML_TYPE_F16;
};

struct timing {
    double wall;
    double cpu;
};

// one graph of one op with its data
class runner {
public:
    explicit runner(int n_threads) : backend(ggml_backend_cpu_init()) {
        ggml_backend_cpu_set_n_threads(backend.get(), n_threads);
        ctx.reset(ggml_init({ 64*ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true }));
    }

    ggml_context * get_ctx() { return ctx.get(); }

    void build(ggml_tensor * out) {
        gf = ggml_new_graph(ctx.get());
        ggml_build_forward_expand(gf, out);
        buf.reset(ggml_backend_alloc_ctx_tensors(ctx.get(), backend.get()));
    }

    timing run() {
        const double cpu   = process_cpu_ms();
        const auto   start = std::chrono::steady_clock::now();

        ggml_backend_graph_compute(backend.get(), gf);

        const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
        return { wall.count(), (process_cpu_ms() - cpu)/1e3 };
    }

private:
    ggml_backend_ptr        backend;
    ggml_context_ptr        ctx;
    ggml_backend_buffer_ptr buf;
    ggml_cgraph           * gf = nullptr;
};

static void set_random(ggml_tensor * t, std::mt19937 & rng) {
    std::normal_distribution<float> normal;

    std::vector<float> data(ggml_nelements(t));
    std::generate(data.begin(), data.end(), [&] { return normal(rng); });

    if (t->type == GGML_TYPE_F32) {
        ggml_backend_tensor_set(t, data.data(), 0, ggml_nbytes(t));
        return;
    }
    std::vector<uint8_t> converted(ggml_nbytes(t));
    ggml_quantize_chunk(t->type, data.data(), converted.data(), 0, ggml_nrows(t), t->ne[0], nullptr);
    ggml_backend_tensor_set(t, converted.data(), 0, converted.size());
}

// cells of a cache [d, n_head_kv, n_cells] by KV head
static ggml_tensor * by_head(ggml_context * ctx, ggml_tensor * t) {
    return ggml_permute(ctx, t, 0, 2, 1, 3);
}

// an op with what it reads: the output is [d, query heads, queries] and more
struct attention {
    ggml_tensor * q;
    ggml_tensor * k;
    ggml_tensor * v;
    ggml_tensor * out;

    std::vector<int32_t> set; // [n_sets][set heads][n_mem], or the cells in their order
};

static std::vector<float> read_values(const ggml_tensor * t) {
    std::vector<uint8_t> data(ggml_nbytes(t));
    ggml_backend_tensor_get(t, data.data(), 0, data.size());

    std::vector<float> res(ggml_nelements(t));
    if (t->type == GGML_TYPE_F32) {
        std::copy_n((const float *) data.data(), res.size(), res.begin());
    } else {
        ggml_get_type_traits(t->type)->to_float(data.data(), res.data(), res.size());
    }
    return res;
}

static attention build_stock(runner & r, const options & opt, bool is_intra, std::mt19937 & rng) {
    ggml_context * ctx = r.get_ctx();

    const int n_keys = is_intra ? opt.n_chunk : opt.n_mem;

    attention a;
    a.q = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, opt.d_head, opt.n_head,    opt.n_chunk);
    a.k = ggml_new_tensor_3d(ctx, opt.type,      opt.d_head, opt.n_head_kv, n_keys);
    a.v = ggml_new_tensor_3d(ctx, opt.type,      opt.d_head, opt.n_head_kv, n_keys);

    ggml_tensor * mask = is_intra ? ggml_new_tensor_2d(ctx, GGML_TYPE_F16, n_keys, opt.n_chunk) : nullptr;

    a.out = ggml_flash_attn_ext(ctx, by_head(ctx, a.q), by_head(ctx, a.k), by_head(ctx, a.v), mask, 1.0f/std::sqrt((float) opt.d_head), 0.0f, 0.0f);
    r.build(a.out);

    for (ggml_tensor * t : { a.q, a.k, a.v }) {
        set_random(t, rng);
    }
    if (mask) {
        std::vector<ggml_fp16_t> data(ggml_nelements(mask), ggml_fp32_to_fp16(-INFINITY));
        for (int i = 0; i < opt.n_chunk; ++i) {
            std::fill_n(data.begin() + (size_t) i*n_keys, i + 1, ggml_fp32_to_fp16(0.0f));
        }
        ggml_backend_tensor_set(mask, data.data(), 0, ggml_nbytes(mask));
    }
    return a;
}

static attention build_h2o(runner & r, const options & opt, bool is_intra, std::mt19937 & rng) {
    ggml_context * ctx = r.get_ctx();

    const int n_cells = is_intra ? opt.n_chunk : 8*opt.n_chunk;
    const int n_heads = opt.votes ? opt.n_head_kv : opt.n_head;
    const int n_sets  = opt.votes ? 1 : (opt.n_chunk + GGML_H2O_BLOCK - 1)/GGML_H2O_BLOCK;

    attention a;
    a.q = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, opt.d_head, opt.n_head,    opt.n_chunk);
    a.k = ggml_new_tensor_3d(ctx, opt.type,      opt.d_head, opt.n_head_kv, n_cells);
    a.v = ggml_new_tensor_3d(ctx, opt.type,      opt.d_head, opt.n_head_kv, n_cells);

    ggml_tensor * set = is_intra ? nullptr : ggml_new_tensor_3d(ctx, GGML_TYPE_I32, opt.n_mem, n_heads, n_sets);

    a.out = ggml_h2o_attn(ctx, a.q, by_head(ctx, a.k), by_head(ctx, a.v), set, nullptr, nullptr, nullptr, false, is_intra, opt.votes,
            1.0f/std::sqrt((float) opt.d_head));
    r.build(a.out);

    for (ggml_tensor * t : { a.q, a.k, a.v }) {
        set_random(t, rng);
    }
    if (set) {
        std::vector<int32_t> cells(n_cells);
        std::iota(cells.begin(), cells.end(), 0);
        for (int i = 0; i < n_heads*n_sets; ++i) {
            std::shuffle(cells.begin(), cells.end(), rng);
            std::sort(cells.begin(), cells.begin() + opt.n_mem);
            a.set.insert(a.set.end(), cells.begin(), cells.begin() + opt.n_mem);
        }
        ggml_backend_tensor_set(set, a.set.data(), 0, ggml_nbytes(set));
    }
    return a;
}

// of the outputs of eight queries, after a run
static double error_of(const attention & a, const options & opt, bool is_intra) {
    const std::vector<float> q = read_values(a.q), k = read_values(a.k), v = read_values(a.v), out = read_values(a.out);

    const int d = opt.d_head;

    double error = 0.0;
    double all   = 0.0;
    for (int query = opt.n_chunk/16; query < opt.n_chunk; query += std::max(1, opt.n_chunk/8)) {
        for (int ih = 0; ih < opt.n_head; ++ih) {
            const int     ih_kv  = ih/(opt.n_head/opt.n_head_kv);
            const size_t  at     = (size_t) query*opt.n_head + ih;
            const int     n_keys = is_intra ? query + 1 : opt.n_mem;
            const int32_t * set  = a.set.empty() ? nullptr : a.set.data() +
                (opt.votes ? ih_kv : query/GGML_H2O_BLOCK*opt.n_head + ih)*(size_t) opt.n_mem;

            const auto cell = [&](int i) { return ((size_t) (set ? set[i] : i)*opt.n_head_kv + ih_kv)*d; };

            double              sum = 0.0;
            std::vector<double> o(d, 0.0);
            for (int i = 0; i < n_keys; ++i) {
                double dot = 0.0;
                for (int j = 0; j < d; ++j) {
                    dot += (double) q[at*d + j]*k[cell(i) + j];
                }
                const double w = std::exp(dot/std::sqrt((double) d));
                sum += w;
                for (int j = 0; j < d; ++j) {
                    o[j] += w*v[cell(i) + j];
                }
            }
            for (int j = 0; j < d; ++j) {
                error += std::pow(out[at*d + j] - o[j]/sum, 2);
                all   += std::pow(o[j]/sum, 2);
            }
        }
    }
    return error/all;
}

static void measure(const options & opt, bool is_intra) {
    std::mt19937 rng(1);

    runner stock(opt.n_threads), h2o(opt.n_threads);
    const attention of_stock = build_stock(stock, opt, is_intra, rng);
    const attention of_h2o   = build_h2o  (h2o,   opt, is_intra, rng);

    stock.run();
    h2o.run();

    std::vector<timing> t_stock, t_h2o;
    std::vector<double> peak;
    for (int i = 0; i < opt.n_rep; ++i) {
        peak   .push_back(fma_peak(opt.n_threads));
        t_stock.push_back(stock.run());
        t_h2o  .push_back(h2o.run());
    }

    const double n_pairs = is_intra ? 0.5*opt.n_chunk*(opt.n_chunk + 1) : 1.0*opt.n_chunk*opt.n_mem;
    const double n_flop  = n_pairs*opt.n_head*4*opt.d_head;

    const auto print = [&](const char * name, const std::vector<timing> & t, double error) {
        const spread ms    = spread_over(opt.n_rep, [&](int i) { return t[i].wall*1e3; });
        const spread share = spread_over(opt.n_rep, [&](int i) { return 100*n_flop/t[i].wall/peak[i]; });
        const spread wall  = spread_over(opt.n_rep, [&](int i) { return t_stock[i].wall/t[i].wall; });
        const spread cpu   = spread_over(opt.n_rep, [&](int i) { return t_stock[i].cpu /t[i].cpu;  });

        printf("| %s | %s | %.2f (%.2f .. %.2f) | %.1f | %.0f %% (%.0f .. %.0f) | %.2f (%.2f .. %.2f) | %.2f | %.1e |\n",
                is_intra ? "intra" : "inter", name, ms.median, ms.low, ms.high, n_flop/ms.median/1e6,
                share.median, share.low, share.high, wall.median, wall.low, wall.high, cpu.median, error);
    };
    print("stock flash attention", t_stock, error_of(of_stock, opt, is_intra));
    print("h2o",                   t_h2o,   error_of(of_h2o,   opt, is_intra));

    const spread gflops = spread_over(opt.n_rep, [&](int i) { return peak[i]/1e9; });
    printf("| %s | F32 peak | | %.1f (%.1f .. %.1f) | 100 %% | | | |\n", is_intra ? "intra" : "inter", gflops.median, gflops.low, gflops.high);
}

int main(int argc, char ** argv) {
    options opt;

    for (int i = 1; i < argc; i += 2) {
        const std::string name  = argv[i];
        const std::string value = i + 1 < argc ? argv[i + 1] : "";

        int * const n =
            name == "-t"         ? &opt.n_threads :
            name == "-r"         ? &opt.n_rep     :
            name == "-S"         ? &opt.n_chunk   :
            name == "-M"         ? &opt.n_mem     :
            name == "-d"         ? &opt.d_head    :
            name == "--heads"    ? &opt.n_head    :
            name == "--kv-heads" ? &opt.n_head_kv : nullptr;

        if (n && atoi(value.c_str()) > 0) {
            *n = atoi(value.c_str());
        } else if (name == "--select" && (value == "query" || value == "votes")) {
            opt.votes = value == "votes";
        } else if (name == "-ctk" && (value == "f16" || value == "f32")) {
            opt.type = value == "f16" ? GGML_TYPE_F16 : GGML_TYPE_F32;
        } else {
            fprintf(stderr, "usage: attn-bench [--select query|votes] [-t N] [-r N] [-S N] [-M N] [-d N] [--heads N] [--kv-heads N] [-ctk f16|f32]\n");
            return 2;
        }
    }
    if (opt.n_head % opt.n_head_kv != 0 || opt.n_mem > 8*opt.n_chunk || opt.d_head % 16 != 0) {
        fprintf(stderr, "attn-bench: --heads is a multiple of --kv-heads, -d of 16, and -M at most 8 times -S\n");
        return 2;
    }

    printf("S = %d, M = %d, %d query and %d KV heads of %d, cache %s, select %s, %d threads, %d repetitions\n\n", opt.n_chunk, opt.n_mem,
            opt.n_head, opt.n_head_kv, opt.d_head, ggml_type_name(opt.type), opt.votes ? "votes" : "query", opt.n_threads, opt.n_rep);
    printf("| | | ms | GFLOP/s | of the F32 peak | stock's time over this | by CPU time | error |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");

    measure(opt, true);
    measure(opt, false);
    return 0;
}
