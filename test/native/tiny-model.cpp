#include "tiny-model.h"

#include "random-gguf.h"
#include "testing.h"

#include <cstring>
#include <filesystem>

static std::vector<float> draw(const random_gguf_tensor & t, int model_seed) {
    std::seed_seq seed(t.name.begin(), t.name.end());
    std::mt19937 engine(seed);
    engine.seed(engine() + model_seed);
    std::normal_distribution<float> normal(t.mean, t.deviation);

    std::vector<float> data(t.n_in*t.n_out);
    for (float & x : data) {
        x = normal(engine);
    }
    return data;
}

static void write_model(const tiny_model_params & p, const std::string & path) {
    const random_gguf_shape shape = {
        p.arch, p.n_layer, p.n_embd, p.n_head, p.n_head_kv, p.d_head, p.n_ff, p.n_vocab, false, 32768, 10000.0f, 1e-5f, p.gain,
    };

    ggml_context_ptr ctx  { ggml_init({ 64*1024*1024, nullptr, false }) };
    gguf_context_ptr gguf { gguf_init_empty() };

    for (const random_gguf_tensor & t : random_gguf_tensors(shape)) {
        const std::vector<float> data = draw(t, p.seed);

        ggml_tensor * dst = t.n_out == 1
            ? ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, t.n_in)
            : ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, t.n_in, t.n_out);

        ggml_set_name(dst, t.name.c_str());
        memcpy(dst->data, data.data(), ggml_nbytes(dst));
        gguf_add_tensor(gguf.get(), dst);
    }

    random_gguf_set_metadata(gguf.get(), shape);

    CHECK(gguf_write_to_file(gguf.get(), path.c_str(), false));
}

// llama.cpp's log stays silent, so that ctest shows what failed
static void ignore_log(ggml_log_level, const char *, void *) {
}

tiny_model::tiny_model(const tiny_model_params & params) : params(params) {
    llama_log_set(ignore_log, nullptr);

    const auto name = "test-h2o-" + std::to_string(std::random_device()()) + ".gguf";
    const auto path = (std::filesystem::temp_directory_path() / name).string();
    write_model(params, path);

    ggml_backend_dev_t no_devices[] = { nullptr };

    llama_model_params mparams = llama_model_default_params();
    mparams.devices   = no_devices;
    mparams.load_mode = LLAMA_LOAD_MODE_NONE;
    model.reset(llama_model_load_from_file(path.c_str(), mparams));

    std::filesystem::remove(path);
    CHECK(model);
}

std::vector<llama_token> tiny_prompt(int n, int seed) {
    std::mt19937 engine(seed);

    std::vector<llama_token> res(n);
    for (llama_token & token : res) {
        token = engine() % 256;
    }
    return res;
}
