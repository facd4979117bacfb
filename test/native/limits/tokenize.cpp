// Tokenizing comes to an end: with a vocabulary on which RWKV's tokenizer would begin again for ever, and when it is
// asked to. Special tokens are found as llama.cpp finds them.

#include "suite.h"
#include "testing.h"

#include "gguf.h"
#include "limit-work.h"
#include "llama-vocab.h"
#include "llama-cpp.h"

#include <filesystem>
#include <string>

// a vocabulary and nothing else
static llama_model_ptr load_vocab(gguf_context * gguf, const char * kind, std::vector<const char *> tokens) {
    gguf_set_val_str(gguf, "general.architecture", "llama");
    gguf_set_val_str(gguf, "tokenizer.ggml.model", kind);
    gguf_set_arr_str(gguf, "tokenizer.ggml.tokens", tokens.data(), tokens.size());

    const auto path = std::filesystem::temp_directory_path() / ("h2o-vocab-" + std::to_string(std::random_device()()));
    CHECK(gguf_write_to_file(gguf, path.c_str(), true));

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

// that strips what is to the right of special tokens, or what is to the left of one
static llama_model_ptr load_special(const char * name, const char * pre) {
    const gguf_context_ptr gguf(gguf_init_empty());
    const std::vector<const char *> tokens = { "a", "b", "<", ">", "\u0120", "<a>", "<a><b>", "b>", "aa", "<mask>", "<s>", "</s>", "<unk>", "<|endoftext|>" };
    const std::vector<int32_t> types = { 1, 1, 1, 1, 1, 3, 4, 4, 4, 4, 3, 3, 2, 3 }; // 2: unknown, 3: control, 4: user-defined

    gguf_set_val_str(gguf.get(), "general.name", name);
    gguf_set_val_str(gguf.get(), "tokenizer.ggml.pre", pre);
    gguf_set_arr_data(gguf.get(), "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types.data(), types.size());
    gguf_set_arr_str(gguf.get(), "tokenizer.ggml.merges", nullptr, 0);
    return load_vocab(gguf.get(), "gpt2", tokens);
}

// without a limit_work_scope llama.cpp's own loop looks for them
static void test_special(const llama_model_ptr & model) {
    const llama_vocab *      vocab  = llama_model_get_vocab(model.get());
    std::vector<std::string> pieces = { "<a>", "<a><b>", "b>", "aa", "a", "<", ">", " ", "  ", "<mask>", "<s>", "</s>" };

    test_random random;
    for (int i = 0; i < 3000; ++i) {
        std::string text;
        for (int n = random.integer(1, 12); n > 0; --n) {
            text += random.pick(pieces);
        }
        limit_work work;
        for (const bool parse_special : { false, true }) {
            const std::vector<llama_token> expected = vocab->tokenize(text, false, parse_special);
            const limit_work_scope         scope(work);
            CHECK(vocab->tokenize(text, false, parse_special) == expected);
        }
    }
}

static void test_end() {
    const gguf_context_ptr gguf(gguf_init_empty());
    const llama_model_ptr  model = load_vocab(gguf.get(), "rwkv", { "<s>", "ab", "b" });

    CHECK(tokenize(model, "babab") == "3");
    CHECK(tokenize(model, "zz")    == "2"); // no token begins like this: unknown ones
    CHECK(tokenize(model, "ba")    == "no token begins here, not even a byte");
    CHECK(tokenize(model, "babac") == "no token begins here, not even a byte");

    const std::atomic<bool> is_aborted{true};
    limit_work                work = { &is_aborted };
    const limit_work_scope    scope(work);
    CHECK(tokenize(model, "babab") == limit_work_aborted().what());
}

static const suite cases("tokenize", [](suite & s) {
    s.add("special tokens",                  [] { test_special(load_special("", "qwen2")); });
    s.add("special tokens that strip right", [] { test_special(load_special("phi-3", "qwen2")); });
    s.add("special tokens that strip left",  [] { test_special(load_special("", "jina-v2-de")); });
    s.add("an end",                          test_end);
});
