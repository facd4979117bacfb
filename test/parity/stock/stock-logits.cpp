// stock-logits: what the unpatched llama.cpp says about a row of tokens.
//
//   stock-logits MODEL TOKENS OUT [-c N] [-b N] [-ub N] [-t N] [-ngl N] [-fa on|off|auto] [-ctk TYPE] [-ctv TYPE]
//                [--lora FILE] [--lora-scale N] [--cut N M] [--all | --from N]
//
// TOKENS holds int32 ids. They are decoded from position 0 on, in calls of at most -b tokens. OUT gets float32 logits:
// n_vocab of them for the last token, or with --from [n_tokens - N][n_vocab]; --all is --from 0. Calls that reach
// beyond N compute the logits of all their tokens. --cut removes the last M positions when N tokens are decoded; the
// rest goes on from there. Uses llama.h only.

#include "llama.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

static const char * const USAGE =
    "usage: stock-logits MODEL TOKENS OUT [-c N] [-b N] [-ub N] [-t N] [-ngl N] [-fa on|off|auto] [-ctk TYPE] "
    "[-ctv TYPE] [--lora FILE] [--lora-scale N] [--cut N M] [--all | --from N]";

struct options {
    std::string model;
    std::string tokens;
    std::string out;

    uint32_t n_ctx     = 0; // 0: as many as there are tokens
    uint32_t n_batch   = 2048;
    uint32_t n_ubatch  = 512;
    int32_t  n_threads = 2;
    int32_t  n_gpu     = -1; // all layers
    bool     ranged    = false;
    uint32_t from      = 0;  // the first token that counts, if ranged; else the last one
    uint32_t cut_at    = 0;  // tokens before the cut
    uint32_t n_cut     = 0;

    llama_flash_attn_type fa = LLAMA_FLASH_ATTN_TYPE_DISABLED;

    std::string lora;
    float       lora_scale = 1.0f;

    ggml_type type_k = GGML_TYPE_F16;
    ggml_type type_v = GGML_TYPE_F16;
};

[[noreturn]] static void die(const std::string & what) {
    fprintf(stderr, "stock-logits: %s\n", what.c_str());
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
    return name == "on"   ? LLAMA_FLASH_ATTN_TYPE_ENABLED
         : name == "auto" ? LLAMA_FLASH_ATTN_TYPE_AUTO
                          : LLAMA_FLASH_ATTN_TYPE_DISABLED;
}

static options parse(int argc, char ** argv) {
    options opt;
    std::vector<std::string> names;
    for (int i = 1; i < argc; i++) {
        const std::string arg = argv[i];
        if (arg == "--all") {
            opt.ranged = true;
        } else if (arg[0] != '-') {
            names.push_back(arg);
        } else if (i + 1 >= argc) {
            die(std::string("no value for ") + arg + "\n" + USAGE);
        } else {
            const std::string value = argv[++i];
            if      (arg == "-c")   { opt.n_ctx     = std::stoul(value); }
            else if (arg == "-b")   { opt.n_batch   = std::stoul(value); }
            else if (arg == "-ub")  { opt.n_ubatch  = std::stoul(value); }
            else if (arg == "-t")   { opt.n_threads = std::stoi(value); }
            else if (arg == "-ngl") { opt.n_gpu     = std::stoi(value); }
            else if (arg == "-fa")  { opt.fa        = fa_by_name(value); }
            else if (arg == "-ctk") { opt.type_k    = type_by_name(value); }
            else if (arg == "-ctv") { opt.type_v    = type_by_name(value); }
            else if (arg == "--lora")       { opt.lora       = value; }
            else if (arg == "--lora-scale") { opt.lora_scale = std::stof(value); }
            else if (arg == "--cut") {
                if (i + 1 >= argc) {
                    die(std::string("no second value for ") + arg + "\n" + USAGE);
                }
                opt.cut_at = std::stoul(value);
                opt.n_cut  = std::stoul(argv[++i]);
            }
            else if (arg == "--from") {
                opt.ranged = true;
                opt.from   = std::stoul(value);
            } else {
                die("unknown option " + arg + "\n" + USAGE);
            }
        }
    }
    if (names.size() != 3) {
        die(USAGE);
    }
    opt.model  = names[0];
    opt.tokens = names[1];
    opt.out    = names[2];
    return opt;
}

static std::vector<llama_token> read_tokens(const std::string & path) {
    FILE * file = fopen(path.c_str(), "rb");
    if (!file) {
        die("cannot read " + path);
    }
    std::vector<llama_token> tokens;
    llama_token token;
    while (fread(&token, sizeof(token), 1, file) == 1) {
        tokens.push_back(token);
    }
    fclose(file);
    if (tokens.empty()) {
        die("no tokens in " + path);
    }
    return tokens;
}

// only what goes wrong
static void log_errors(ggml_log_level level, const char * text, void *) {
    if (level == GGML_LOG_LEVEL_ERROR) {
        fputs(text, stderr);
    }
}

int main(int argc, char ** argv) {
    const options opt = parse(argc, argv);
    const std::vector<llama_token> tokens = read_tokens(opt.tokens);
    const uint32_t n_tokens = tokens.size();

    llama_log_set(log_errors, nullptr);
    llama_backend_init();

    llama_model_params model_params = llama_model_default_params();
    model_params.n_gpu_layers = opt.n_gpu;
    llama_model * model = llama_model_load_from_file(opt.model.c_str(), model_params);
    if (!model) {
        die("cannot load " + opt.model);
    }
    llama_adapter_lora * lora = opt.lora.empty() ? nullptr : llama_adapter_lora_init(model, opt.lora.c_str());
    if (!lora && !opt.lora.empty()) {
        die("cannot load " + opt.lora);
    }
    const int32_t n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));

    llama_context_params params = llama_context_default_params();
    params.n_ctx           = opt.n_ctx ? opt.n_ctx : n_tokens;
    params.n_batch         = opt.n_batch;
    params.n_ubatch        = std::min(opt.n_ubatch, opt.n_batch);
    params.n_threads       = opt.n_threads;
    params.n_threads_batch = opt.n_threads;
    params.flash_attn_type = opt.fa;
    params.type_k          = opt.type_k;
    params.type_v          = opt.type_v;
    params.swa_full        = false; // as the tools have it, and the addon

    llama_context * ctx = llama_init_from_model(model, params);
    if (!ctx) {
        die("cannot make a context");
    }
    if (lora) {
        float scale = opt.lora_scale;
        llama_set_adapters_lora(ctx, &lora, 1, &scale);
    }

    FILE * out = fopen(opt.out.c_str(), "wb");
    if (!out) {
        die("cannot write " + opt.out);
    }

    const uint32_t from = opt.ranged ? opt.from : n_tokens - 1;

    llama_batch batch = llama_batch_init(opt.n_batch, 0, 1);
    uint32_t n_gone = 0;
    for (uint32_t n_done = 0; n_done < n_tokens; n_done += batch.n_tokens) {
        if (n_done == opt.cut_at && opt.n_cut > 0) {
            n_gone = opt.n_cut;
            if (!llama_memory_seq_rm(llama_get_memory(ctx), 0, n_done - n_gone, -1)) {
                die("the cut is refused");
            }
        }
        const uint32_t end = n_done < opt.cut_at ? std::min(opt.cut_at, n_tokens) : n_tokens;
        batch.n_tokens = std::min(opt.n_batch, end - n_done);
        for (int32_t i = 0; i < batch.n_tokens; i++) {
            batch.token   [i]    = tokens[n_done + i];
            batch.pos     [i]    = n_done + i - n_gone;
            batch.n_seq_id[i]    = 1;
            batch.seq_id  [i][0] = 0;
            batch.logits  [i]    = opt.ranged ? n_done + batch.n_tokens > from : n_done + i + 1 == n_tokens;
        }
        const int32_t status = llama_decode(ctx, batch);
        if (status != 0) {
            die("llama_decode of token " + std::to_string(n_done) + " returned " + std::to_string(status));
        }
        for (int32_t i = 0; i < batch.n_tokens; i++) {
            if (batch.logits[i] && n_done + i >= from) {
                fwrite(llama_get_logits_ith(ctx, i), sizeof(float), n_vocab, out);
            }
        }
    }

    llama_batch_free(batch);
    if (fclose(out) != 0) {
        die("cannot write " + opt.out);
    }
    llama_free(ctx);
    llama_model_free(model);
    llama_backend_free();
    return 0;
}
