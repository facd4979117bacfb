// Tokenizing comes to an end: with a vocabulary on which RWKV's tokenizer would begin again for ever, and when it is
// asked to.

#include "testing.h"

#include "gguf.h"
#include "limit-work.h"
#include "llama-cpp.h"

#include <filesystem>
#include <string>

// a vocabulary and nothing else
static llama_model_ptr load_vocab(std::vector<const char *> tokens) {
    const gguf_context_ptr gguf(gguf_init_empty());
    gguf_set_val_str(gguf.get(), "general.architecture", "llama");
    gguf_set_val_str(gguf.get(), "tokenizer.ggml.model", "rwkv");
    gguf_set_arr_str(gguf.get(), "tokenizer.ggml.tokens", tokens.data(), tokens.size());

    const auto path = std::filesystem::temp_directory_path() / ("h2o-rwkv-" + std::to_string(std::random_device()()));
    CHECK(gguf_write_to_file(gguf.get(), path.c_str(), true));

    llama_model_params params = llama_model_default_params();
    params.vocab_only = true;
    llama_model_ptr model(llama_model_load_from_file(path.c_str(), params));
    std::filesystem::remove(path);
    CHECK(model);
    return model;
}

// how many, or what was thrown
static std::string tokenize(const llama_model_ptr & model, const std::string & text) {
    std::vector<llama_token> tokens(text.size());
    try {
        return std::to_string(llama_tokenize(llama_model_get_vocab(model.get()), text.data(), text.size(), tokens.data(),
            tokens.size(), false, false));
    } catch (const std::exception & err) {
        return err.what();
    }
}

int main() {
    const llama_model_ptr model = load_vocab({ "<s>", "ab", "b" });

    CHECK(tokenize(model, "babab") == "3");
    CHECK(tokenize(model, "zz")    == "2"); // no token begins like this: unknown ones
    CHECK(tokenize(model, "ba")    == "no token begins here, not even a byte");
    CHECK(tokenize(model, "babac") == "no token begins here, not even a byte");

    const std::atomic<bool> is_aborted{true};
    limit_work                work = { &is_aborted };
    const limit_work_scope    scope(work);
    CHECK(tokenize(model, "babab") == limit_work_aborted().what());
}
