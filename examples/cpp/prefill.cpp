// prefill MODEL FILE [N]: reads the text of a file sparsely, says how each call went, and continues it by N tokens.
// What is not llama.cpp's own interface is in h2o.h.

#include "h2o.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

static std::vector<llama_token> tokenize(const llama_vocab * vocab, const std::string & text) {
    const int n = -llama_tokenize(vocab, text.data(), (int) text.size(), nullptr, 0, true, true);
    std::vector<llama_token> tokens(std::max(n, 0));
    llama_tokenize(vocab, text.data(), (int) text.size(), tokens.data(), (int) tokens.size(), true, true);
    return tokens;
}

static bool read(llama_context * ctx, llama_token * tokens, size_t n) {
    if (llama_decode(ctx, llama_batch_get_one(tokens, (int) n)) != 0) {
        return false;
    }
    h2o_call call;
    h2o_get_last_call(ctx, &call);
    const std::string why = call.path == H2O_PATH_DENSE ? std::string(": ") + h2o_reason_name(call.reason) : "";
    fprintf(stderr, "%d tokens at %d, %s%s\n", call.n_tokens, call.pos, h2o_path_name(call.path), why.c_str());
    return true;
}

int main(int argc, char ** argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: prefill MODEL FILE [N]\n");
        return 2;
    }
    const int n_predict = argc > 3 ? atoi(argv[3]) : 32;

    std::ifstream file(argv[2], std::ios::binary);
    if (!file) {
        fprintf(stderr, "cannot read %s\n", argv[2]);
        return 2;
    }
    const std::string text((std::istreambuf_iterator<char>(file)), {});

    llama_log_set([](ggml_log_level level, const char * line, void *) { if (level == GGML_LOG_LEVEL_ERROR) { fputs(line, stderr); } }, nullptr);
    const std::unique_ptr<llama_model, decltype(&llama_model_free)> model(
        llama_model_load_from_file(argv[1], llama_model_default_params()), llama_model_free);
    if (!model) {
        return 1;
    }
    const llama_vocab * vocab = llama_model_get_vocab(model.get());
    std::vector<llama_token> tokens = tokenize(vocab, text);
    if (tokens.empty()) {
        fprintf(stderr, "%s holds no text\n", argv[2]);
        return 2;
    }

    h2o_params h2o = h2o_default_params(); // what a null pointer would mean, too

    llama_context_params params = llama_context_default_params();
    params.n_ctx    = (uint32_t) tokens.size() + n_predict;
    params.n_batch  = 2048;
    params.n_ubatch = 512; // S, a chunk
    params.h2o      = &h2o;
    const std::unique_ptr<llama_context, decltype(&llama_free)> ctx(llama_init_from_model(model.get(), params), llama_free);
    if (!ctx) {
        return 1;
    }

    // the last tokens see all of the text: they are a call of their own, which is dense as it holds no more than a chunk
    const h2o_info info   = h2o_get_info(ctx.get());
    const size_t   n_tail = h2o_get_policy_traits(info.policy)->n_dense_tail;
    const size_t   n_main = tokens.size() > n_tail ? tokens.size() - n_tail : 0;

    h2o_expect(ctx.get(), 0, (uint32_t) n_main); // so a short last call is sparse, too
    for (size_t i = 0; i < n_main; i += params.n_batch) {
        if (!read(ctx.get(), tokens.data() + i, std::min<size_t>(params.n_batch, n_main - i))) {
            return 1;
        }
    }
    if (!read(ctx.get(), tokens.data() + n_main, tokens.size() - n_main)) {
        return 1;
    }

    const std::unique_ptr<llama_sampler, decltype(&llama_sampler_free)> sampler(llama_sampler_init_greedy(), llama_sampler_free);
    for (int i = 0; i < n_predict; i++) {
        llama_token token = llama_sampler_sample(sampler.get(), ctx.get(), -1);
        if (llama_vocab_is_eog(vocab, token)) {
            break;
        }
        char piece[256];
        fwrite(piece, 1, std::max(0, llama_token_to_piece(vocab, token, piece, sizeof(piece), 0, true)), stdout);
        if (llama_decode(ctx.get(), llama_batch_get_one(&token, 1)) != 0) {
            return 1;
        }
    }
    puts("");
    return 0;
}
