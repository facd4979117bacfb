// decode-bench: attention of few queries over a long cache on the CPU: stock's with and without flash attention, and
// GGML_H2O_OP_DECODE, exact and sparse, operator against operator, beside what the machine's memory can read. Built by
// `npm run bench:native`.
//
//   decode-bench [-t N] [-r N] [-n N,N,...] [-q N] [-d N] [--heads N] [--kv-heads N] [-ctk f32|f16|bf16|q8_0|q4_0|...] [--keys N]
//
//   -n      cells of the cache, several in one run
//   -q      queries: 1 is decoding, 64 a question behind a document
//   --keys  that each query head chooses in sparse decoding; its index is made before. 0: no sparse decoding
//
// Caches of several layers lie side by side, 512 MiB in all or more for up to 8 queries, so that none of them finds its keys
// in a processor's cache. A repetition runs all contenders in turns; shown are medians, with the lowest and highest of the
// ratios.

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
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

struct options {
    int n_threads = 1;
    int n_rep     = 7;
    int n_query   = 1;
    int d_head    = 128;
    int n_head    = 16;
    int n_head_kv = 8;
    int n_keys    = 1024;
    int n_stock   = 1; // 0: without llama.cpp's own

    std::vector<int> n_kv = { 4096, 8192, 16384, 32768 };

    ggml_type type = GGML_TYPE_F16;

    double kv_bytes(int n) const { return 2.0*n*n_head_kv*ggml_row_size(type, d_head); }
};

struct timing {
    double wall; // seconds
    double cpu;
};

template <typename F> static timing time_of(F f) {
    const double cpu   = process_cpu_ms();
    const auto   start = std::chrono::steady_clock::now();

    f();

    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    return { wall.count(), (process_cpu_ms() - cpu)/1e3 };
}

enum contender { FLASH, PRODUCTS, EXACT, SPARSE, N_CONTENDERS };

static const char * names[N_CONTENDERS] = { "llama.cpp, -fa on", "llama.cpp, -fa off", "ours, exact", "ours, sparse" };

// the same caches read by all contenders; those without flash attention have V transposed
class caches {
public:
    caches(const options & opt, int n_kv) : opt(opt), backend(ggml_backend_cpu_init()) {
        const double size     = 512.0*1024*1024*8/std::max(8, opt.n_query); // many queries wait for products, not for memory
        const int    n_layers = std::max(1, (int) std::ceil(size/opt.kv_bytes(n_kv)));

        ctx.reset(ggml_init({ 32*(size_t) n_layers*ggml_tensor_overhead() + N_CONTENDERS*ggml_graph_overhead_custom(16*n_layers, false) + 4096, nullptr, true }));
        ggml_backend_cpu_set_n_threads(backend.get(), opt.n_threads);

        const auto mask = [&](ggml_type type) { return ggml_new_tensor_2d(ctx.get(), type, n_kv, opt.n_query); };

        q        = ggml_new_tensor_3d(ctx.get(), GGML_TYPE_F32, opt.d_head, opt.n_head, opt.n_query);
        mask_f16 = mask(GGML_TYPE_F16);
        mask_f32 = mask(GGML_TYPE_F32);
        k = new_cells(n_layers, n_kv);
        v = new_cells(n_layers, n_kv);

        range = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_I32, 2);
        signs.resize(n_layers);
        std::generate(signs.begin(), signs.end(), [&] {
            return ggml_new_tensor_3d(ctx.get(), GGML_TYPE_I8, ggml_h2o_signs_size(opt.d_head), n_kv/GGML_H2O_PAGE, opt.n_head_kv);
        });

        const float scale = 1.0f/std::sqrt((float) opt.d_head);

        for (int c = 0; c < N_CONTENDERS; ++c) {
            graphs[c] = ggml_new_graph_custom(ctx.get(), 16*n_layers, false);

            for (int il = 0; il < n_layers && has(c); ++il) {
                ggml_build_forward_expand(graphs[c], build((contender) c, il, n_kv, scale));
            }
        }
        // results of all contenders have their own memory: they are small beside the caches
        buf.reset(ggml_backend_alloc_ctx_tensors(ctx.get(), backend.get()));
        fill(n_kv);
        if (has(SPARSE)) {
            make_signs(n_kv);
        }
    }

    // quantised values cannot be transposed
    bool has(int c) const {
        switch (c) {
            case FLASH:    return opt.n_stock > 0;
            case PRODUCTS: return opt.n_stock > 0 && !ggml_is_quantized(opt.type);
            case SPARSE:   return opt.n_keys > 0;
            default:       return true;
        }
    }

    // of one layer
    timing run(int c) {
        const timing t = time_of([&] { ggml_backend_graph_compute(backend.get(), graphs[c]); });
        return { t.wall/k.size(), t.cpu/k.size() };
    }

private:
    const options & opt;

    ggml_backend_ptr        backend;
    ggml_context_ptr        ctx;
    ggml_backend_buffer_ptr buf;

    ggml_tensor * q;
    ggml_tensor * mask_f16;
    ggml_tensor * mask_f32;

    std::vector<ggml_tensor *> k;
    std::vector<ggml_tensor *> v;
    std::vector<ggml_tensor *> signs;

    ggml_tensor * range;

    ggml_cgraph * graphs[N_CONTENDERS];

    std::vector<ggml_tensor *> new_cells(int n_layers, int n_kv) {
        std::vector<ggml_tensor *> res(n_layers);
        std::generate(res.begin(), res.end(), [&] { return ggml_new_tensor_3d(ctx.get(), opt.type, opt.d_head, opt.n_head_kv, n_kv); });
        return res;
    }

    ggml_tensor * build(contender c, int il, int n_kv, float scale) {
        ggml_context * g = ctx.get();

        ggml_tensor * keys   = ggml_permute(g, k[il], 0, 2, 1, 3);
        ggml_tensor * values = ggml_permute(g, v[il], 0, 2, 1, 3);

        if (c == EXACT || c == SPARSE) {
            ggml_tensor * out = ggml_h2o_decode(g, q, keys, values, mask_f16, nullptr, false, scale, 0.0f);
            if (c == SPARSE) {
                ggml_h2o_decode_add_signs(out, signs[il], range, opt.n_keys);
            }
            return out;
        }
        ggml_tensor * queries = ggml_permute(g, q, 0, 2, 1, 3);

        if (c == FLASH) {
            ggml_tensor * out = ggml_flash_attn_ext(g, queries, keys, values, mask_f16, scale, 0.0f, 0.0f);
            ggml_prec_set_acc(out, GGML_PREC_F32);
            return out;
        }
        // the same memory with the cells of a channel side by side, as this cache has them
        values = ggml_reshape_3d(g, v[il], n_kv, opt.n_head_kv, opt.d_head);
        values = ggml_permute(g, values, 0, 2, 1, 3);

        ggml_tensor * kq = ggml_mul_mat(g, keys, queries);
        ggml_prec_set_acc(kq, GGML_PREC_F32);
        return ggml_mul_mat(g, values, ggml_soft_max_ext(g, kq, mask_f32, scale, 0.0f));
    }

    void make_signs(int n_kv) {
        const ggml_context_ptr g(ggml_init({ 4*signs.size()*ggml_tensor_overhead() + ggml_graph_overhead_custom(4*signs.size(), false), nullptr, true }));

        const int32_t n_pages  = n_kv/GGML_H2O_PAGE;
        const int32_t pages[2] = { 0, n_pages };
        ggml_backend_tensor_set(range, pages, 0, sizeof(pages));

        ggml_cgraph * graph = ggml_new_graph_custom(g.get(), 4*signs.size(), false);
        for (size_t il = 0; il < signs.size(); ++il) {
            ggml_build_forward_expand(graph, ggml_h2o_signs(g.get(), ggml_permute(g.get(), k[il], 0, 2, 1, 3), signs[il], range));
        }
        for (ggml_tensor * t = ggml_get_first_tensor(g.get()); t; t = ggml_get_next_tensor(g.get(), t)) {
            ggml_backend_view_init(t);
        }
        const timing t = time_of([&] { ggml_backend_graph_compute(backend.get(), graph); });
        printf("| %d | index | | %.3f | | | |\n", n_kv, t.cpu*1e3/signs.size());
    }

    void fill(int n_kv) {
        std::mt19937 rng(1);
        std::normal_distribution<float> normal;

        // rows of noise over and over: so many that few keys of a head are alike
        const int n_rows = 16411;
        std::vector<float> noise(opt.d_head*n_rows);
        std::generate(noise.begin(), noise.end(), [&] { return normal(rng); });

        std::vector<uint8_t> rows(ggml_row_size(opt.type, opt.d_head)*n_rows);
        if (opt.type == GGML_TYPE_F32) {
            std::copy_n((const uint8_t *) noise.data(), rows.size(), rows.begin());
        } else {
            ggml_quantize_chunk(opt.type, noise.data(), rows.data(), 0, n_rows, opt.d_head, nullptr);
        }
        for (const auto & tensors : { k, v }) {
            for (ggml_tensor * t : tensors) {
                for (size_t at = 0; at < ggml_nbytes(t); at += rows.size()) {
                    ggml_backend_tensor_set(t, rows.data(), at, std::min(rows.size(), ggml_nbytes(t) - at));
                }
            }
        }

        std::vector<float> queries(ggml_nelements(q));
        std::generate(queries.begin(), queries.end(), [&] { return normal(rng); });
        ggml_backend_tensor_set(q, queries.data(), 0, ggml_nbytes(q));

        // each query sees itself and all before it
        std::vector<float>       mask(ggml_nelements(mask_f32), -INFINITY);
        std::vector<ggml_fp16_t> half(mask.size());
        for (int i = 0; i < opt.n_query; ++i) {
            std::fill_n(mask.begin() + (size_t) i*n_kv, n_kv - opt.n_query + i + 1, 0.0f);
        }
        ggml_fp32_to_fp16_row(mask.data(), half.data(), mask.size());
        ggml_backend_tensor_set(mask_f32, mask.data(), 0, ggml_nbytes(mask_f32));
        ggml_backend_tensor_set(mask_f16, half.data(), 0, ggml_nbytes(mask_f16));
    }
};

// Bytes per second that threads read from memory, one after the other, by the clock and by CPU time.
static timing read_rate(const std::vector<float> & data, int n_threads) {
    std::vector<float> sums(n_threads);

    const timing t = time_of([&] {
        std::vector<std::thread> threads;
        for (int i = 0; i < n_threads; ++i) {
            threads.emplace_back([&, i] {
                const size_t n    = data.size()/n_threads/64*64;
                const float * src = data.data() + i*n;

                float lanes[64] = {}; // so many that a compiler keeps them in vectors
                for (size_t j = 0; j < n; j += 64) {
                    for (int l = 0; l < 64; ++l) {
                        lanes[l] += src[j + l];
                    }
                }
                for (const float lane : lanes) {
                    sums[i] += lane;
                }
            });
        }
        for (std::thread & thread : threads) {
            thread.join();
        }
    });
    volatile float sink = sums[0]; // without a use, nothing would be read
    (void) sink;

    const double bytes = data.size()*sizeof(float);
    return { bytes/t.wall, bytes/t.cpu };
}

static void measure(const options & opt, int n_kv, const std::vector<float> & memory) {
    caches c(opt, n_kv);

    std::vector<timing> times[N_CONTENDERS];
    std::vector<timing> rates;

    for (int rep = -1; rep < opt.n_rep; ++rep) {
        const timing rate = read_rate(memory, opt.n_threads);
        if (rep >= 0) {
            rates.push_back(rate);
        }
        for (int i = 0; i < N_CONTENDERS; ++i) {
            if (c.has(i)) {
                const timing t = c.run(i);
                if (rep >= 0) {
                    times[i].push_back(t);
                }
            }
        }
    }

    for (int i = 0; i < N_CONTENDERS; ++i) {
        if (!c.has(i)) {
            continue;
        }
        const auto of_each = [&](auto value) { return spread_over(opt.n_rep, value); };

        const double wall  = of_each([&](int r) { return times[i][r].wall*1e3; }).median;
        const double cpu   = of_each([&](int r) { return times[i][r].cpu *1e3; }).median;
        const double rate  = of_each([&](int r) { return opt.kv_bytes(n_kv)/times[i][r].cpu/rates[r].cpu; }).median;
        const spread ratio = of_each([&](int r) { return times[i][r].cpu/times[EXACT][r].cpu; });

        printf("| %d | %s | %.3f | %.3f | %.1f | %.2f | %.2f (%.2f .. %.2f) |\n", n_kv, names[i], wall, cpu,
                opt.kv_bytes(n_kv)/cpu/1e6, rate, ratio.median, ratio.low, ratio.high);
        fflush(stdout);
    }
    printf("| %d | memory, reading | | | %.1f | 1 | |\n", n_kv, spread_over(opt.n_rep, [&](int r) { return rates[r].cpu/1e9; }).median);
}

static ggml_type type_named(const std::string & name) {
    for (const ggml_type type : { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q4_1,
                                  GGML_TYPE_Q5_0, GGML_TYPE_Q5_1 }) {
        if (name == ggml_type_name(type)) {
            return type;
        }
    }
    return GGML_TYPE_COUNT;
}

int main(int argc, char ** argv) {
    options opt;

    bool is_known = true;
    for (int i = 1; i < argc && is_known; i += 2) {
        const std::string name  = argv[i];
        const std::string value = i + 1 < argc ? argv[i + 1] : "";

        int * const n =
            name == "-t"         ? &opt.n_threads :
            name == "-r"         ? &opt.n_rep     :
            name == "-q"         ? &opt.n_query   :
            name == "-d"         ? &opt.d_head    :
            name == "--heads"    ? &opt.n_head    :
            name == "--kv-heads" ? &opt.n_head_kv :
            name == "--keys"     ? &opt.n_keys    :
            name == "--stock"    ? &opt.n_stock   : nullptr;

        if (n) {
            *n = atoi(value.c_str());
            is_known = *n > 0 || n == &opt.n_stock || n == &opt.n_keys;
        } else if (name == "-n") {
            opt.n_kv.clear();
            std::istringstream list(value);
            for (std::string item; std::getline(list, item, ','); ) {
                opt.n_kv.push_back(atoi(item.c_str()));
            }
        } else if (name == "-ctk") {
            opt.type = type_named(value);
            is_known = opt.type != GGML_TYPE_COUNT;
        } else {
            is_known = false;
        }
    }
    const bool has_cells = !opt.n_kv.empty() &&
        std::all_of(opt.n_kv.begin(), opt.n_kv.end(), [&](int n) { return n >= opt.n_query && n % GGML_H2O_PAGE == 0; });

    if (!is_known || !has_cells || opt.n_head % opt.n_head_kv != 0 || opt.d_head % 32 != 0 || opt.n_query > GGML_H2O_DECODE_MAX) {
        fprintf(stderr, "usage: decode-bench [-t N] [-r N] [-n N,N,...] [-q N] [-d N] [--heads N] [--kv-heads N] [-ctk TYPE] [--keys N] [--stock 0|1]\n"
                        "-n is a multiple of 64, -d of 32, --heads is one of --kv-heads, -q at most %d\n", GGML_H2O_DECODE_MAX);
        return 2;
    }

    printf("%d queries, %d query and %d KV heads of %d, cache %s, %d threads, %d repetitions\n\n", opt.n_query,
            opt.n_head, opt.n_head_kv, opt.d_head, ggml_type_name(opt.type), opt.n_threads, opt.n_rep);
    printf("| cells | | ms | ms of CPU | GB per CPU second | of memory's | CPU time over ours |\n| ---: | --- | ---: | ---: | ---: | ---: | ---: |\n");

    const std::vector<float> memory(512*1024*1024/sizeof(float), 1.0f);

    for (const int n_kv : opt.n_kv) {
        measure(opt, n_kv, memory);
    }
    return 0;
}
