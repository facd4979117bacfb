// One small model on the CPU and on the first GPU: do they agree, does the GPU repeat itself, and does the sparse graph stay
// on it? What both give without H2O stands beside it, so that a miss can be told from one of llama.cpp's own products.
// Fails without a GPU. Run by bench/gpu/run.sh.
//
//   device-check MODEL

#include "h2o.h"
#include "llama.h"

#include "llama-context.h" // the scheduler

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

static const uint32_t N_CHUNK  = 256;
static const uint32_t N_CHUNKS = 11; // in calls of four: the last one has three, and is sparse with any tail

struct check_case {
    const char * name;
    ggml_type    type;     // of the cache
    bool         flash;
    h2o_schedule schedule;
    int          n_tail;   // tokens behind the last whole chunk
    double       max_nmse; // of the logits, and of the votes
    double       min_same; // share of the members of the memory sets
};

struct outcome {
    std::vector<float>                logits;
    std::vector<std::vector<int32_t>> sets;  // of every layer and chunk, head after head
    std::vector<float>                votes; // that every chunk cast on itself

    int  n_splits;
    bool is_sparse;
    bool is_fused;
};

static void log_problems(ggml_log_level level, const char * text, void *) {
    if (level == GGML_LOG_LEVEL_ERROR || level == GGML_LOG_LEVEL_WARN) {
        fputs(text, stderr);
    }
}

static void decode(llama_context * ctx, std::vector<llama_token> & tokens, bool trace, outcome & res) {
    llama_memory_clear(llama_get_memory(ctx), true);
    res.sets.clear();
    res.votes.clear();

    const int n_batch = llama_n_batch(ctx);
    for (int pos = 0; pos < (int) tokens.size(); pos += n_batch) {
        const int n = std::min<int>(n_batch, tokens.size() - pos);
        if (llama_decode(ctx, llama_batch_get_one(tokens.data() + pos, n)) != 0) {
            fprintf(stderr, "llama_decode failed\n");
            exit(1);
        }
        for (int i = 0; trace && i < h2o_trace_n(ctx); ++i) {
            h2o_trace t;
            h2o_get_trace(ctx, i, &t);
            res.sets.emplace_back(t.mem_pos, t.mem_pos + t.n_mem*t.n_head_kv);
            res.votes.insert(res.votes.end(), t.chunk_score, t.chunk_score + t.n_chunk*t.n_head_kv);
        }
    }

    const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(ctx)));
    const float * logits = llama_get_logits_ith(ctx, -1);
    res.logits.assign(logits, logits + n_vocab);
    res.n_splits = ggml_backend_sched_get_n_splits(ctx->get_sched());

    h2o_call call;
    res.is_sparse = h2o_get_last_call(ctx, &call) && call.path == H2O_PATH_SPARSE;
    res.is_fused  = h2o_get_info(ctx).is_fused;
}

static llama_context * open_context(llama_model * model, const check_case & c, int n_tokens, bool h2o) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx           = n_tokens;
    params.n_batch         = 4*N_CHUNK;
    params.n_ubatch        = N_CHUNK;
    params.flash_attn_type = c.flash ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.type_k          = c.type;
    params.type_v          = c.type;
    params.h2o_local       = h2o ? 32 : 0;
    params.h2o_heavy       = h2o ? 64 : 0;
    params.h2o_schedule    = c.schedule;

    llama_context * ctx = llama_init_from_model(model, params);
    if (!ctx) {
        fprintf(stderr, "no context\n");
        exit(1);
    }
    return ctx;
}

static double nmse(const std::vector<float> & a, const std::vector<float> & b) {
    double err = 0.0;
    double sum = 0.0;
    for (size_t i = 0; i < a.size(); ++i) {
        err += (a[i] - b[i])*(a[i] - b[i]);
        sum += b[i]*b[i];
    }
    return err/sum;
}

// share of the members that both runs chose
static double overlap(const outcome & a, const outcome & b) {
    size_t n_all  = 0;
    size_t n_same = 0;
    for (size_t i = 0; i < std::min(a.sets.size(), b.sets.size()); ++i) {
        std::vector<int32_t> x = a.sets[i];
        std::vector<int32_t> y = b.sets[i];
        std::sort(x.begin(), x.end());
        std::sort(y.begin(), y.end());

        std::vector<int32_t> both;
        std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
        n_same += both.size();
        n_all  += x.size();
    }
    return a.sets.size() == b.sets.size() && n_all > 0 ? (double) n_same/n_all : 0.0;
}

static llama_model * load(const char * path, int n_gpu_layers) {
    llama_model_params params = llama_model_default_params();
    params.n_gpu_layers = n_gpu_layers;

    ggml_backend_dev_t no_devices[] = { nullptr };
    if (n_gpu_layers == 0) {
        params.devices = no_devices;
    }
    llama_model * model = llama_model_load_from_file(path, params);
    if (!model) {
        fprintf(stderr, "cannot load %s\n", path);
        exit(1);
    }
    return model;
}

static outcome run_dense(llama_model * model, std::vector<llama_token> & tokens, const check_case & c) {
    llama_context * ctx = open_context(model, c, tokens.size(), false);
    outcome res;
    decode(ctx, tokens, false, res);
    llama_free(ctx);
    return res;
}

static bool check(llama_model * on_cpu, llama_model * on_device, std::vector<llama_token> tokens, const check_case & c) {
    tokens.resize(N_CHUNKS*N_CHUNK + c.n_tail);

    outcome cpu;
    outcome first;
    outcome second;
    outcome plain; // without tracing, which copies to the host

    llama_context * ctx = open_context(on_cpu, c, tokens.size(), true);
    h2o_set_trace(ctx, H2O_TRACE_SETS);
    decode(ctx, tokens, true, cpu);
    llama_free(ctx);

    ctx = open_context(on_device, c, tokens.size(), true);
    decode(ctx, tokens, false, plain);
    h2o_set_trace(ctx, H2O_TRACE_SETS);
    decode(ctx, tokens, true, first);
    decode(ctx, tokens, true, second);
    llama_free(ctx);

    const outcome dense_cpu = run_dense(on_cpu,    tokens, c);
    const outcome dense     = run_dense(on_device, tokens, c);

    const double err    = nmse(first.logits, cpu.logits);
    const double voted  = nmse(first.votes,  cpu.votes);
    const double same   = overlap(first, cpu);
    const bool   repeat = first.logits == second.logits && first.sets == second.sets && first.votes == second.votes;

    const bool ok = cpu.is_sparse && plain.is_sparse && plain.is_fused && err <= c.max_nmse && voted <= c.max_nmse && same >= c.min_same &&
        repeat && plain.n_splits <= dense.n_splits;

    printf("%-4s %-24s logits NMSE %.1e (dense %.1e), votes %.1e, same members %.2f %%, repeats %s, sparse %s, fused %s, splits %d (dense %d)\n",
            ok ? "ok" : "FAIL", c.name, err, nmse(dense.logits, dense_cpu.logits), voted, 100*same, repeat ? "yes" : "no",
            plain.is_sparse ? "yes" : "no", plain.is_fused ? "yes" : "no", plain.n_splits, dense.n_splits);
    return ok;
}

static bool has_gpu() {
    return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU) || ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_IGPU);
}

int main(int argc, char ** argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: device-check MODEL\n");
        return 2;
    }
    // stock sums products of F16 weights in F16; that is its choice, and no matter of what is checked here
    setenv("GGML_CUDA_CUBLAS_COMPUTE_TYPE", "f32", 1);

    setvbuf(stdout, nullptr, _IOLBF, BUFSIZ); // what was found is out before anything aborts
    llama_log_set(log_problems, nullptr);
    llama_backend_init();

    if (!has_gpu()) {
        fprintf(stderr, "FAIL no GPU: there is nothing to compare the CPU with\n");
        return 1;
    }

    llama_model * on_cpu    = load(argv[1], 0);
    llama_model * on_device = load(argv[1], 999);

    const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(on_cpu));

    std::mt19937 engine(1);
    std::vector<llama_token> tokens((N_CHUNKS + 1)*N_CHUNK);
    for (llama_token & token : tokens) {
        token = engine() % n_vocab;
    }

    bool ok = true;
    const h2o_schedule one = H2O_SCHEDULE_SINGLE_PASS;
    const h2o_schedule two = H2O_SCHEDULE_TWO_PASS;

    for (const check_case & c : {
            check_case{ "f32, -fa off",              GGML_TYPE_F32,  false, one, 0,   1e-4, 0.99 },
            check_case{ "f16, -fa on",               GGML_TYPE_F16,  true,  one, 0,   1e-4, 0.99 },
            check_case{ "f16, -fa off, tail of 100", GGML_TYPE_F16,  false, one, 100, 1e-4, 0.99 },
            check_case{ "f16, -fa on, tail of 1",    GGML_TYPE_F16,  true,  one, 1,   1e-4, 0.99 },
            check_case{ "f16, two-pass, tail of 1",  GGML_TYPE_F16,  true,  two, 1,   1e-4, 0.99 },
            // wider: a backend may round queries to the type of the keys, with fewer bits than F16 has
            check_case{ "bf16, -fa on",              GGML_TYPE_BF16, true,  one, 0,   2e-3, 0.97 },
            check_case{ "q8_0, -fa on",              GGML_TYPE_Q8_0, true,  one, 0,   2e-3, 0.97 } }) {
        ok = check(on_cpu, on_device, tokens, c) && ok;
    }

    llama_model_free(on_device);
    llama_model_free(on_cpu);
    return ok ? 0 : 1;
}
