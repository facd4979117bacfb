// linear-bench: the matrix products of linear layers on the CPU, by weight type, rows and the buffer that holds the
// weights. Built by `npm run bench:native`.
//
//   linear-bench [-t N] [-r N] [-k N] [-n N] [-e EXPERTS] [-u USED] [-m ROWS]... [--type TYPE]...
//
//   -k, -n   values of a row of weights, and rows: 3072 and 1024
//   -e, -u   experts, and how many of them a row of activations goes to, drawn at random: 1 and 1, which are none
//   -m       rows of activations: 1, 8, 64, 512 and 1024; with as few as 8, -n 24576 has weights that no cache holds
//
// `plain` are weights as they lie in the file, other names are ggml's packed buffers. `h2o` is the marked product, which
// our kernels run where they serve it; elsewhere it is ggml's once more. Repetitions run in turns; shown are medians by
// CPU time. The error is against float64 on the same weights, normalised mean square.

#include "fma-peak.h"
#include "process-usage.h"
#include "spread.h"

#include "ops/ggml-h2o.h"

#include "ggml-cpp.h"
#include "ggml-cpu.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

struct options {
    int n_threads = 2;
    int n_rep     = 7;
    int n_k       = 3072;
    int n_n       = 1024;
    int n_experts = 1;
    int n_used    = 1;

    std::vector<int>         n_rows;
    std::vector<std::string> types;
};

static const ggml_type TYPES[] = {
    GGML_TYPE_F16,  GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0,   GGML_TYPE_Q5_1,
    GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_Q3_K, GGML_TYPE_Q2_K, GGML_TYPE_IQ4_XS, GGML_TYPE_MXFP4, GGML_TYPE_F32,
};

struct data {
    std::vector<uint8_t> w; // of one expert; all have the same
    std::vector<float>   w_f32;
    std::vector<float>   x;
    std::vector<int32_t> ids;
};

static data make_data(const options & opt, ggml_type type, int n_rows) {
    std::mt19937 rng(1);
    std::normal_distribution<float> normal;

    data d;
    d.x    .resize((size_t) opt.n_k*n_rows);
    d.w_f32.resize((size_t) opt.n_k*opt.n_n);
    std::generate(d.x    .begin(), d.x    .end(), [&] { return normal(rng); });
    std::generate(d.w_f32.begin(), d.w_f32.end(), [&] { return normal(rng); });

    d.w.resize(ggml_row_size(type, opt.n_k)*opt.n_n);
    ggml_quantize_chunk(type, d.w_f32.data(), d.w.data(), 0, opt.n_n, opt.n_k, nullptr);
    if (type != GGML_TYPE_F32) {
        ggml_get_type_traits(type)->to_float(d.w.data(), d.w_f32.data(), (int64_t) opt.n_k*opt.n_n);
    }

    std::vector<int32_t> experts(opt.n_experts);
    std::iota(experts.begin(), experts.end(), 0);
    for (int i = 0; i < n_rows; ++i) {
        std::shuffle(experts.begin(), experts.end(), rng);
        d.ids.insert(d.ids.end(), experts.begin(), experts.begin() + opt.n_used);
    }
    return d;
}

// one product with its data
class runner {
public:
    runner(const options & opt, ggml_backend_buffer_type_t buft, ggml_type type, int n_rows, const data & d, bool ours)
            : opt(opt), d(d), backend(ggml_backend_cpu_init()) {
        ggml_backend_cpu_set_n_threads(backend.get(), opt.n_threads);
        ctx_w.reset(ggml_init({ 8*ggml_tensor_overhead(), nullptr, true }));
        ctx  .reset(ggml_init({ 8*ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true }));

        ggml_tensor * w   = ggml_new_tensor_3d(ctx_w.get(), type, opt.n_k, opt.n_n, opt.n_experts);
        ggml_tensor * x   = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, opt.n_k, n_rows);
        ggml_tensor * ids = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_I32, opt.n_used, n_rows);
        buf_w.reset(ggml_backend_alloc_ctx_tensors_from_buft(ctx_w.get(), buft));

        out = opt.n_experts == 1 ? ggml_mul_mat(ctx.get(), w, x) :
            ggml_mul_mat_id(ctx.get(), w, ggml_reshape_3d(ctx.get(), x, opt.n_k, 1, n_rows), ids);
        if (ours) {
            ggml_h2o_mark_linear(out);
        }
        if (!ggml_backend_dev_supports_op(ggml_backend_get_device(backend.get()), out)) {
            out = nullptr;
            return;
        }
        gf = ggml_new_graph(ctx.get());
        ggml_build_forward_expand(gf, out);
        buf.reset(ggml_backend_alloc_ctx_tensors(ctx.get(), backend.get()));

        std::vector<uint8_t> all;
        for (int i = 0; i < opt.n_experts; ++i) {
            all.insert(all.end(), d.w.begin(), d.w.end());
        }
        ggml_backend_tensor_set(w,   all.data(),   0, all.size());
        ggml_backend_tensor_set(x,   d.x.data(),   0, d.x.size()*sizeof(float));
        ggml_backend_tensor_set(ids, d.ids.data(), 0, d.ids.size()*sizeof(int32_t));
    }

    bool supported() const { return out; }

    // seconds of CPU time
    double run() {
        const double cpu = process_cpu_ms();
        ggml_backend_graph_compute(backend.get(), gf);
        return (process_cpu_ms() - cpu)/1e3;
    }

    double error() const {
        std::vector<float> y(ggml_nelements(out));
        ggml_backend_tensor_get(out, y.data(), 0, ggml_nbytes(out));

        double diff = 0.0, norm = 0.0;
        for (size_t i = 0; i < y.size(); i += y.size() > 4096 ? 97 : 1) {
            const float * w = d.w_f32.data() + i%opt.n_n*opt.n_k;
            const float * x = d.x    .data() + i/opt.n_n/opt.n_used*opt.n_k;
            double sum = 0.0;
            for (int k = 0; k < opt.n_k; ++k) {
                sum += (double) w[k]*x[k];
            }
            diff += (y[i] - sum)*(y[i] - sum);
            norm += sum*sum;
        }
        return diff/norm;
    }

private:
    const options & opt;
    const data    & d;

    ggml_backend_ptr        backend;
    ggml_context_ptr        ctx_w;
    ggml_context_ptr        ctx;
    ggml_backend_buffer_ptr buf_w;
    ggml_backend_buffer_ptr buf;
    ggml_cgraph           * gf  = nullptr;
    ggml_tensor           * out = nullptr;
};

struct contender {
    std::string                name;
    ggml_backend_buffer_type_t buft;
};

static std::vector<contender> contenders() {
    ggml_backend_dev_t dev = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);

    std::vector<contender> res = { { "plain", ggml_backend_dev_buffer_type(dev) } };

    const auto get_extra_bufts = (ggml_backend_dev_get_extra_bufts_t)
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(dev), "ggml_backend_dev_get_extra_bufts");
    for (ggml_backend_buffer_type_t * buft = get_extra_bufts ? get_extra_bufts(dev) : nullptr; buft && *buft; ++buft) {
        res.push_back({ ggml_backend_buft_name(*buft), *buft });
    }
    return res;
}

static void measure(const options & opt, ggml_type type, int n_rows) {
    const data d = make_data(opt, type, n_rows);

    std::vector<runner>              runners;
    std::vector<std::string>         names;
    std::vector<std::vector<double>> times;
    std::vector<double>              peak;

    for (const contender & c : contenders()) {
        for (const bool ours : { false, true }) {
            runner r(opt, c.buft, type, n_rows, d, ours);
            if (r.supported()) {
                runners.push_back(std::move(r));
                names  .push_back(c.name + (ours ? " h2o" : ""));
                times  .push_back({});
            }
        }
    }

    const double n_flop  = 2.0*n_rows*opt.n_used*opt.n_n*opt.n_k;
    const int    n_calls = std::max(1, (int) (2e9/n_flop)); // the clock of CPU time is coarse

    for (int i = -1; i < opt.n_rep; ++i) {
        peak.push_back(fma_peak(opt.n_threads)/opt.n_threads);
        for (size_t j = 0; j < runners.size(); ++j) {
            double sum = 0.0;
            for (int l = 0; l < n_calls; ++l) {
                sum += runners[j].run();
            }
            if (i >= 0) {
                times[j].push_back(sum/n_calls);
            }
        }
    }
    for (size_t j = 0; j < runners.size(); ++j) {
        const double t = spread_of(times[j]).median;
        printf("| %s | %d | %s | %.3f | %.0f | %.2f | %.1e |\n", ggml_type_name(type), n_rows, names[j].c_str(), t*1e3,
                n_flop/t/1e9, n_flop/t/spread_of(peak).median, runners[j].error());
    }
    fflush(stdout);
}

int main(int argc, char ** argv) {
    options opt;

    for (int i = 1; i < argc; i += 2) {
        const std::string name  = argv[i];
        const std::string value = i + 1 < argc ? argv[i + 1] : "";

        int * const n =
            name == "-t" ? &opt.n_threads :
            name == "-r" ? &opt.n_rep     :
            name == "-k" ? &opt.n_k       :
            name == "-n" ? &opt.n_n       :
            name == "-e" ? &opt.n_experts :
            name == "-u" ? &opt.n_used    : nullptr;

        if (n && atoi(value.c_str()) > 0) {
            *n = atoi(value.c_str());
        } else if (name == "-m" && atoi(value.c_str()) > 0) {
            opt.n_rows.push_back(atoi(value.c_str()));
        } else if (name == "--type" && !value.empty()) {
            opt.types.push_back(value);
        } else {
            fprintf(stderr, "usage: linear-bench [-t N] [-r N] [-k N] [-n N] [-e EXPERTS] [-u USED] [-m ROWS]... [--type TYPE]...\n");
            return 2;
        }
    }
    if (opt.n_used > opt.n_experts) {
        fprintf(stderr, "a row goes to as many experts as there are, at most\n");
        return 2;
    }
    if (opt.n_rows.empty()) {
        opt.n_rows = { 1, 8, 64, 512, 1024 };
    }

    printf("%d values, %d outputs, %d of %d experts, %d threads, %d repetitions\n\n", opt.n_k, opt.n_n, opt.n_used, opt.n_experts,
            opt.n_threads, opt.n_rep);
    printf("| weights | rows | buffer | ms of CPU | GFLOP/s a core | of its F32 peak | error |\n");
    printf("| --- | ---: | --- | ---: | ---: | ---: | ---: |\n");

    for (const ggml_type type : TYPES) {
        const bool wanted = std::find(opt.types.begin(), opt.types.end(), ggml_type_name(type)) != opt.types.end();
        if ((opt.types.empty() || wanted) && opt.n_k % ggml_blck_size(type) == 0) {
            for (const int n_rows : opt.n_rows) {
                measure(opt, type, n_rows);
            }
        }
    }
    return 0;
}
