// prefill-bench: how long llama.cpp takes from a prompt to its first token, and for the answer behind it. Built as stock-bench on the unpatched pin,
// and with BENCH_H2O as h2o-bench on the patched tree. Run by `h2o-prefill bench` (src/ts/cli/bench/measure.ts).
//
//   stock-bench MODEL TOKENS [-n N] [-c N] [-b N] [-ub N] [-t N] [-fa on|off|auto] [-ctk TYPE] [-ctv TYPE] [-ngl N]
//               [-r N] [-w N] [--predict N] [--calls N,N,...] [--profile]
//   h2o-bench, as stock-bench, and
//               [--h2o-local N] [--h2o-heavy N] [--h2o-schedule single-pass|two-pass] [--h2o-select votes|query]
//               [--h2o-decode N]
//     What is not given is the engine's default; with L = H = 0 H2O is off.
//
// TOKENS holds int32 ids, of which the first -n are the prompt (0: all). It is decoded in calls of --calls tokens, or
// of at most -b, -r times over, after a warm-up with the first -w of them. The clock runs from the first llama_decode
// to the argmax of the last token's logits, and then again until there are --predict tokens: each is the argmax behind the
// one before. Prints one JSON object; a repetition is one entry of its arrays.
//
// --profile adds where the time goes: two more prefills (profile.h), in none of which anything else is measured.

#include "llama.h"
#include "process-usage.h"
#include "profile.h"

#ifdef BENCH_H2O
#include "h2o.h"
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

static const char * const USAGE =
    "usage: MODEL TOKENS [-n N] [-c N] [-b N] [-ub N] [-t N] [-fa on|off|auto] [-ctk TYPE] [-ctv TYPE] [-ngl N]"
    " [-r N] [-w N] [--predict N] [--calls N,N,...] [--profile]"
#ifdef BENCH_H2O
    " [--h2o-local N] [--h2o-heavy N] [--h2o-schedule single-pass|two-pass] [--h2o-select votes|query]"
    " [--h2o-decode N]"
#endif
    ;

struct options {
    std::string model;
    std::string tokens;

    uint32_t n_prompt     = 0;
    uint32_t n_ctx        = 0; // 0: as many as prompt and answer take
    uint32_t n_batch      = 2048;
    uint32_t n_ubatch     = 512;
    int32_t  n_threads    = 2;
    int32_t  n_gpu_layers = -1;
    uint32_t n_rep        = 1;
    uint32_t n_warmup     = 32;
    uint32_t n_predict    = 1;
    bool     profile      = false;

    std::vector<uint32_t> calls; // empty: as many as fit

    llama_flash_attn_type fa = LLAMA_FLASH_ATTN_TYPE_AUTO;

    ggml_type type_k = GGML_TYPE_F16;
    ggml_type type_v = GGML_TYPE_F16;

#ifdef BENCH_H2O
    uint32_t        n_local  = H2O_AUTO;
    uint32_t        n_heavy  = H2O_AUTO;
    h2o_schedule    schedule = H2O_SCHEDULE_SINGLE_PASS;
    h2o_policy_type policy   = h2o_default_params().policy;
    uint32_t        n_decode = 0;
#endif
};

// CPU time is of all threads; below 0 where the system does not say
struct elapsed {
    double wall_ms;
    double cpu_ms;
};

struct repetition {
    elapsed     prompt;
    elapsed     answer; // without its first token
    llama_token token;
};

[[noreturn]] static void die(const std::string & what) {
    fprintf(stderr, "prefill-bench: %s\n", what.c_str());
    exit(1);
}

static ggml_type type_by_name(const std::string & name) {
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        const char * known = ggml_type_name((ggml_type) i);
        if (known && name == known) {
            return (ggml_type) i;
        }
    }
    die("unknown type " + name);
}

static llama_flash_attn_type fa_by_name(const std::string & name) {
    if (name == "on")   { return LLAMA_FLASH_ATTN_TYPE_ENABLED;  }
    if (name == "off")  { return LLAMA_FLASH_ATTN_TYPE_DISABLED; }
    if (name == "auto") { return LLAMA_FLASH_ATTN_TYPE_AUTO;     }
    die("-fa takes on, off or auto, not " + name);
}

static int32_t integer(const std::string & arg, const std::string & value, int32_t min) {
    try {
        size_t end = 0;
        const int32_t n = std::stoi(value, &end);
        if (end == value.size() && n >= min) {
            return n;
        }
    } catch (const std::logic_error &) {
    }
    die(arg + " takes a whole number of at least " + std::to_string(min) + ", not " + value);
}

static std::vector<uint32_t> integers(const std::string & arg, const std::string & value) {
    std::vector<uint32_t> res;
    for (size_t begin = 0; begin <= value.size();) {
        const size_t end = std::min(value.find(',', begin), value.size());
        res.push_back(integer(arg, value.substr(begin, end - begin), 1));
        begin = end + 1;
    }
    return res;
}

#ifdef BENCH_H2O
static h2o_schedule schedule_by_name(const std::string & name) {
    for (const h2o_schedule schedule : { H2O_SCHEDULE_SINGLE_PASS, H2O_SCHEDULE_TWO_PASS }) {
        if (name == h2o_schedule_name(schedule)) {
            return schedule;
        }
    }
    die("unknown schedule " + name);
}

static h2o_policy_type policy_by_name(const std::string & name) {
    for (int i = 0; const h2o_policy_traits * policy = h2o_get_policy(i); ++i) {
        if (name == policy->name) {
            return policy->type;
        }
    }
    die("unknown selection " + name);
}
#endif

static options parse(int argc, char ** argv) {
    options opt;
    std::vector<std::string> names;
    for (int i = 1; i < argc; i++) {
        const std::string arg = argv[i];
        if (arg[0] != '-') {
            names.push_back(arg);
            continue;
        }
        if (arg == "--profile") {
            opt.profile = true;
            continue;
        }
        if (i + 1 >= argc) {
            die("no value for " + arg + "\n" + USAGE);
        }
        const std::string value = argv[++i];
        if      (arg == "-n")   { opt.n_prompt     = integer(arg, value,  0); }
        else if (arg == "-c")   { opt.n_ctx        = integer(arg, value,  0); }
        else if (arg == "-b")   { opt.n_batch      = integer(arg, value,  1); }
        else if (arg == "-ub")  { opt.n_ubatch     = integer(arg, value,  1); }
        else if (arg == "-t")   { opt.n_threads    = integer(arg, value,  1); }
        else if (arg == "-ngl") { opt.n_gpu_layers = integer(arg, value, -1); }
        else if (arg == "-r")   { opt.n_rep        = integer(arg, value,  0); }
        else if (arg == "-w")   { opt.n_warmup     = integer(arg, value,  0); }
        else if (arg == "-fa")  { opt.fa           = fa_by_name(value);       }
        else if (arg == "-ctk") { opt.type_k       = type_by_name(value);     }
        else if (arg == "-ctv") { opt.type_v       = type_by_name(value);     }
        else if (arg == "--predict") { opt.n_predict = integer(arg, value, 1); }
        else if (arg == "--calls") { opt.calls     = integers(arg, value);    }
#ifdef BENCH_H2O
        else if (arg == "--h2o-local")    { opt.n_local  = integer(arg, value, 0); }
        else if (arg == "--h2o-heavy")    { opt.n_heavy  = integer(arg, value, 0); }
        else if (arg == "--h2o-schedule") { opt.schedule = schedule_by_name(value); }
        else if (arg == "--h2o-select")   { opt.policy   = policy_by_name(value);   }
        else if (arg == "--h2o-decode")   { opt.n_decode = value == "auto" ? H2O_AUTO : integer(arg, value, 0); }
#endif
        else                    { die("unknown option " + arg + "\n" + USAGE); }
    }
    if (names.size() != 2) {
        die(USAGE);
    }
    for (const uint32_t n : opt.calls) {
        if (n > opt.n_batch) {
            die("a call of " + std::to_string(n) + " tokens is longer than -b " + std::to_string(opt.n_batch));
        }
    }
    opt.model  = names[0];
    opt.tokens = names[1];
    return opt;
}

static std::vector<llama_token> read_prompt(const options & opt) {
    FILE * file = fopen(opt.tokens.c_str(), "rb");
    if (!file) {
        die("cannot read " + opt.tokens);
    }
    std::vector<llama_token> tokens;
    llama_token token;
    while ((opt.n_prompt == 0 || tokens.size() < opt.n_prompt) && fread(&token, sizeof(token), 1, file) == 1) {
        tokens.push_back(token);
    }
    fclose(file);
    if (tokens.empty() || tokens.size() < opt.n_prompt) {
        die(opt.tokens + " holds only " + std::to_string(tokens.size()) + " tokens");
    }
    return tokens;
}

// how n tokens are cut into calls
static std::vector<uint32_t> plan_calls(const options & opt, uint32_t n) {
    std::vector<uint32_t> calls;
    for (uint32_t done = 0; done < n; done += calls.back()) {
        const size_t i = calls.size();
        calls.push_back(std::min(i < opt.calls.size() ? opt.calls[i] : opt.n_batch, n - done));
    }
    return calls;
}

// what every prefill needs
struct session {
    llama_context                  * ctx;
    const options                  & opt;
    const std::vector<llama_token> & prompt;

    llama_batch batch;
};

// decodes tokens at a position, with logits for the last one of them if is_last
static void decode(session & s, const llama_token * tokens, uint32_t n, uint32_t pos, bool is_last) {
    s.batch.n_tokens = n;
    for (uint32_t i = 0; i < n; i++) {
        s.batch.token   [i]    = tokens[i];
        s.batch.pos     [i]    = pos + i;
        s.batch.n_seq_id[i]    = 1;
        s.batch.seq_id  [i][0] = 0;
        s.batch.logits  [i]    = is_last && i + 1 == n;
    }
    const int32_t status = llama_decode(s.ctx, s.batch);
    if (status != 0) {
        die("llama_decode at position " + std::to_string(pos) + " returned " + std::to_string(status));
    }
}

// waits for the device
static llama_token likeliest(session & s) {
    const float * logits  = llama_get_logits_ith(s.ctx, -1);
    const int32_t n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(s.ctx)));
    return std::max_element(logits, logits + n_vocab) - logits;
}

// clears the cache and decodes the first n tokens of the prompt; gives the argmax of the last one's logits
static llama_token first_token(session & s, uint32_t n) {
    llama_memory_clear(llama_get_memory(s.ctx), false);

    uint32_t pos = 0;
    for (const uint32_t n_call : plan_calls(s.opt, n)) {
        decode(s, s.prompt.data() + pos, n_call, pos, pos + n_call == n);
        pos += n_call;
    }
    return likeliest(s);
}

// the rest of the answer behind the whole prompt
static void next_tokens(session & s, llama_token token) {
    for (uint32_t i = 1; i < s.opt.n_predict; i++) {
        decode(s, &token, 1, s.prompt.size() + i - 1, true);
        token = likeliest(s);
    }
}

template <typename F> static elapsed measure_time(F work) {
    using clock = std::chrono::steady_clock;

    const double cpu_start  = process_cpu_ms();
    const auto   wall_start = clock::now();

    work();

    const std::chrono::duration<double, std::milli> wall = clock::now() - wall_start;
    const double cpu_end = process_cpu_ms();

    return { wall.count(), cpu_end < 0 ? -1 : cpu_end - cpu_start };
}

static repetition measure(session & s) {
    repetition res;
    res.prompt = measure_time([&] { res.token = first_token(s, s.prompt.size()); });
    res.answer = measure_time([&] { next_tokens(s, res.token); });
    return res;
}

static void print_value(double value) {
    if (value < 0) {
        printf("null");
    } else {
        printf("%.3f", value);
    }
}

template <typename F> static void print_array(const char * name, const std::vector<repetition> & reps, F print) {
    printf("\"%s\":[", name);
    for (size_t i = 0; i < reps.size(); i++) {
        printf("%s", i ? "," : "");
        print(reps[i]);
    }
    printf("],");
}

// {"plainMs": without cuts, "totalMs": with them, "partsMs": {kind: ...}}
static void print_profile(session & s, profiler & prof) {
    const auto prefill = [&] { first_token(s, s.prompt.size()); };

    prof.start_learning();
    const elapsed plain = measure_time(prefill);
    prof.start_measuring();
    const elapsed cut = measure_time(prefill);
    if (!prof.stop()) {
        die("the profiled prefill was not the one that was learnt");
    }
    printf("\"profile\":{\"plainMs\":%.3f,\"totalMs\":%.3f,\"partsMs\":{", plain.wall_ms, cut.wall_ms);
    for (int kind = 0; kind < NODE_KIND_COUNT; kind++) {
        printf("%s\"%s\":%.3f", kind ? "," : "", node_kind_name((node_kind) kind), prof.get_ms((node_kind) kind));
    }
    printf("}},");
}

#ifdef BENCH_H2O
static void print_h2o(const llama_context * ctx) {
    const h2o_info info   = h2o_get_info(ctx);
    const int64_t  sparse = h2o_get_count(ctx, H2O_REASON_NONE).n_calls;
    printf("\"h2o\":{\"reason\":\"%s\",\"sparseCalls\":%lld,\"fused\":%s,\"stateBytes\":%zu,\"indexBytes\":%zu,\"intraBytes\":%zu,"
           "\"kvBytes\":%zu,\"computeBytes\":%zu},",
           h2o_reason_name(info.reason), (long long) sparse, info.is_fused ? "true" : "false", info.size_state,
           info.size_index, info.size_intra, info.size_kv, info.size_compute);
}
#endif

// only what goes wrong
static void log_errors(ggml_log_level level, const char * text, void *) {
    if (level == GGML_LOG_LEVEL_ERROR) {
        fputs(text, stderr);
    }
}

int main(int argc, char ** argv) {
    const options opt = parse(argc, argv);
    const std::vector<llama_token> prompt = read_prompt(opt);

    llama_log_set(log_errors, nullptr);
    llama_backend_init();

    llama_model_params model_params = llama_model_default_params();
    model_params.n_gpu_layers = opt.n_gpu_layers;

    llama_model * model = llama_model_load_from_file(opt.model.c_str(), model_params);
    if (!model) {
        die("cannot load " + opt.model);
    }

    llama_context_params params = llama_context_default_params();
    params.swa_full = false; // as llama.cpp's tools have it
    params.n_ctx           = opt.n_ctx ? opt.n_ctx : prompt.size() + opt.n_predict - 1;
    params.n_batch         = opt.n_batch;
    params.n_ubatch        = std::min(opt.n_ubatch, opt.n_batch);
    params.n_threads       = opt.n_threads;
    params.n_threads_batch = opt.n_threads;
    params.flash_attn_type = opt.fa;
    params.type_k          = opt.type_k;
    params.type_v          = opt.type_v;

#ifdef BENCH_H2O
    h2o_params h2o = h2o_default_params();
    h2o.n_local  = opt.n_local;
    h2o.n_heavy  = opt.n_heavy;
    h2o.schedule = opt.schedule;
    h2o.policy   = opt.policy;
    h2o.n_decode = opt.n_decode;
    params.h2o = &h2o;
#endif

    profiler prof;
    if (opt.profile) {
        params.cb_eval           = profiler::on_node;
        params.cb_eval_user_data = &prof;
    }

    llama_context * ctx = llama_init_from_model(model, params);
    if (!ctx) {
        die("cannot make a context");
    }

    session s = { ctx, opt, prompt, llama_batch_init(opt.n_batch, 0, 1) };

    if (const uint32_t n_warmup = std::min<uint32_t>(opt.n_warmup, prompt.size())) {
        first_token(s, n_warmup);
    }
    std::vector<repetition> reps;
    for (uint32_t i = 0; i < opt.n_rep; i++) {
        reps.push_back(measure(s));
    }

    printf("{");
    print_array("ttftMs",      reps, [](const repetition & r) { print_value(r.prompt.wall_ms); });
    print_array("cpuMs",       reps, [](const repetition & r) { print_value(r.prompt.cpu_ms);  });
    print_array("token",       reps, [](const repetition & r) { printf("%d", r.token);         });
    print_array("answerMs",    reps, [](const repetition & r) { print_value(r.answer.wall_ms); });
    print_array("answerCpuMs", reps, [](const repetition & r) { print_value(r.answer.cpu_ms);  });
#ifdef BENCH_H2O
    print_h2o(ctx);
#endif
    if (opt.profile) {
        print_profile(s, prof);
    }
    printf("\"peakRssBytes\":");
    print_value(process_peak_rss_bytes());
    printf("}\n");

    llama_batch_free(s.batch);
    llama_free(ctx);
    llama_model_free(model);
    llama_backend_free();
    return 0;
}
