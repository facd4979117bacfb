#include "tiny-model.h"

#include "testing.h"

#include "gguf.h"

#include <cmath>
#include <cstring>
#include <filesystem>

namespace {

struct gguf_maker {
    const tiny_model_params & p;

    ggml_context_ptr ctx  { ggml_init({ 64*1024*1024, nullptr, false }) };
    gguf_context_ptr gguf { gguf_init_empty() };

    void u32(const std::string & key, uint32_t value) { gguf_set_val_u32(gguf.get(), (p.arch + "." + key).c_str(), value); }
    void f32(const std::string & key, float    value) { gguf_set_val_f32(gguf.get(), (p.arch + "." + key).c_str(), value); }

    void add(const std::string & name, const std::vector<float> & data, int n_in) {
        const int64_t n_out = data.size()/n_in;

        ggml_tensor * t = n_out == 1
            ? ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, n_in)
            : ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, n_in, n_out);

        ggml_set_name(t, name.c_str());
        memcpy(t->data, data.data(), ggml_nbytes(t));
        gguf_add_tensor(gguf.get(), t);
    }

    std::vector<float> draw(const std::string & name, int n, float mean, float deviation) {
        std::seed_seq seed(name.begin(), name.end());
        std::mt19937 engine(seed);
        engine.seed(engine() + p.seed);
        std::normal_distribution<float> normal(mean, deviation);

        std::vector<float> data(n);
        for (float & x : data) {
            x = normal(engine);
        }
        return data;
    }

    void matrix(const std::string & name, int n_in, int n_out, float gain) {
        add(name, draw(name, n_in*n_out, 0.0f, gain/std::sqrt((float) n_in)), n_in);
    }

    // n_head_kv heads, each n_repeat times in a row
    void matrix_kv(const std::string & name, float gain) {
        const int n = p.n_embd*p.d_head; // values of one head

        const std::vector<float> heads = draw(name, n*p.n_head_kv, 0.0f, gain/std::sqrt((float) p.n_embd));

        std::vector<float> data;
        for (int i = 0; i < p.n_head_kv*p.n_repeat; ++i) {
            const auto head = heads.begin() + (i/p.n_repeat)*n;
            data.insert(data.end(), head, head + n);
        }
        add(name, data, p.n_embd);
    }

    void norm(const std::string & name, int n, float mean) {
        add(name, draw(name, n, mean, 0.2f*mean), n);
    }

    void metadata() {
        gguf_set_val_str(gguf.get(), "general.architecture", p.arch.c_str());
        gguf_set_val_str(gguf.get(), "tokenizer.ggml.model", "no_vocab"); // token ids only

        u32("vocab_size",           p.n_vocab);
        u32("context_length",       32768);
        u32("embedding_length",     p.n_embd);
        u32("feed_forward_length",  p.n_ff);
        u32("block_count",          p.n_layer);
        u32("rope.dimension_count", p.d_head);
        f32("rope.freq_base",       10000.0f);

        u32("attention.head_count",             p.n_head);
        u32("attention.head_count_kv",          p.n_head_kv*p.n_repeat);
        u32("attention.key_length",             p.d_head);
        u32("attention.value_length",           p.d_head);
        f32("attention.layer_norm_rms_epsilon", 1e-5f);
    }

    void tensors() {
        const bool is_normed = p.arch == "qwen3";

        // of the deviation of the logits one half is in q, one in k; where heads are normed, in the norms
        const float gain    = std::sqrt(p.gain);
        const float gain_qk = is_normed ? 1.0f : gain;

        add("token_embd.weight", draw("token_embd.weight", p.n_embd*p.n_vocab, 0.0f, 1.0f), p.n_embd);
        norm("output_norm.weight", p.n_embd, 1.0f);
        matrix("output.weight", p.n_embd, p.n_vocab, 2.0f);

        for (int il = 0; il < p.n_layer; ++il) {
            const std::string blk = "blk." + std::to_string(il) + ".";

            norm(blk + "attn_norm.weight", p.n_embd, 1.0f);
            matrix   (blk + "attn_q.weight", p.n_embd, p.n_head*p.d_head, gain_qk);
            matrix_kv(blk + "attn_k.weight", gain_qk);
            matrix_kv(blk + "attn_v.weight", 1.0f);
            if (is_normed) {
                norm(blk + "attn_q_norm.weight", p.d_head, gain);
                norm(blk + "attn_k_norm.weight", p.d_head, gain);
            }
            matrix(blk + "attn_output.weight", p.n_head*p.d_head, p.n_embd, 2.0f);

            norm(blk + "ffn_norm.weight", p.n_embd, 1.0f);
            matrix(blk + "ffn_gate.weight", p.n_embd, p.n_ff, 1.0f);
            matrix(blk + "ffn_up.weight",   p.n_embd, p.n_ff, 1.0f);
            matrix(blk + "ffn_down.weight", p.n_ff, p.n_embd, 1.0f);
        }
    }
};

// llama.cpp's log stays silent, so that ctest shows what failed
void ignore_log(ggml_log_level, const char *, void *) {
}

}

tiny_model::tiny_model(const tiny_model_params & params) : params(params) {
    llama_log_set(ignore_log, nullptr);

    gguf_maker maker = { params };
    maker.metadata();
    maker.tensors();

    const auto name = "test-h2o-" + std::to_string(std::random_device()()) + ".gguf";
    const auto path = (std::filesystem::temp_directory_path() / name).string();
    CHECK(gguf_write_to_file(maker.gguf.get(), path.c_str(), false));

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
