// Writes a Qwen3 model of any shape with random weights, without a vocabulary: for measuring, and for comparing devices.
// Tensors are streamed, so that a model may be larger than memory.
//
//   random-model OUT f32|f16|bf16|q8_0 LAYERS HIDDEN HEADS KV_HEADS HEAD_SIZE FFN VOCAB TIED(0|1)

#include "random-values.h"

#include "ggml-cpp.h"
#include "gguf.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

[[noreturn]] static void die(const std::string & what) {
    fprintf(stderr, "random-model: %s\n", what.c_str());
    exit(1);
}

struct model_shape {
    ggml_type type;

    int64_t n_layer;
    int64_t n_embd;
    int64_t n_head;
    int64_t n_head_kv;
    int64_t d_head;
    int64_t n_ff;
    int64_t n_vocab;
    bool    tied;
};

struct tensor_plan {
    ggml_tensor * tensor;

    float mean;
    float deviation;
};

struct model_plan {
    explicit model_plan(const model_shape & shape) : shape(shape) {}

    const model_shape & shape;

    ggml_context_ptr ctx  { ggml_init({ 16*1024*1024, nullptr, true }) };
    gguf_context_ptr gguf { gguf_init_empty() };

    std::vector<tensor_plan> tensors;

    void add(const std::string & name, ggml_type type, int64_t n_in, int64_t n_out, float mean, float deviation) {
        ggml_tensor * t = n_out == 1 ? ggml_new_tensor_1d(ctx.get(), type, n_in) : ggml_new_tensor_2d(ctx.get(), type, n_in, n_out);
        ggml_set_name(t, name.c_str());
        gguf_add_tensor(gguf.get(), t);
        tensors.push_back({ t, mean, deviation });
    }

    void matrix(const std::string & name, int64_t n_in, int64_t n_out, float gain) {
        add(name, shape.type, n_in, n_out, 0.0f, gain/std::sqrt((float) n_in));
    }

    void norm(const std::string & name, int64_t n, float mean) {
        add(name, GGML_TYPE_F32, n, 1, mean, 0.2f*mean);
    }

    void u32(const std::string & key, uint32_t value) { gguf_set_val_u32(gguf.get(), ("qwen3." + key).c_str(), value); }
    void f32(const std::string & key, float    value) { gguf_set_val_f32(gguf.get(), ("qwen3." + key).c_str(), value); }

    void metadata() {
        gguf_set_val_str(gguf.get(), "general.architecture", "qwen3");
        gguf_set_val_str(gguf.get(), "general.name", "random weights");
        gguf_set_val_str(gguf.get(), "tokenizer.ggml.model", "no_vocab"); // token ids only

        u32("vocab_size",           shape.n_vocab);
        u32("context_length",       1 << 20);
        u32("embedding_length",     shape.n_embd);
        u32("feed_forward_length",  shape.n_ff);
        u32("block_count",          shape.n_layer);
        u32("rope.dimension_count", shape.d_head);
        f32("rope.freq_base",       1e6f);

        u32("attention.head_count",             shape.n_head);
        u32("attention.head_count_kv",          shape.n_head_kv);
        u32("attention.key_length",             shape.d_head);
        u32("attention.value_length",           shape.d_head);
        f32("attention.layer_norm_rms_epsilon", 1e-6f);
    }

    void weights() {
        const float logits = std::sqrt(2.0f); // half of the deviation of the attention logits each, for q and k

        add("token_embd.weight", shape.type, shape.n_embd, shape.n_vocab, 0.0f, 1.0f);
        norm("output_norm.weight", shape.n_embd, 1.0f);
        if (!shape.tied) {
            matrix("output.weight", shape.n_embd, shape.n_vocab, 2.0f);
        }

        for (int64_t il = 0; il < shape.n_layer; ++il) {
            const std::string blk = "blk." + std::to_string(il) + ".";

            norm  (blk + "attn_norm.weight",   shape.n_embd, 1.0f);
            matrix(blk + "attn_q.weight",      shape.n_embd, shape.n_head*shape.d_head,    1.0f);
            matrix(blk + "attn_k.weight",      shape.n_embd, shape.n_head_kv*shape.d_head, 1.0f);
            matrix(blk + "attn_v.weight",      shape.n_embd, shape.n_head_kv*shape.d_head, 1.0f);
            norm  (blk + "attn_q_norm.weight", shape.d_head, logits);
            norm  (blk + "attn_k_norm.weight", shape.d_head, logits);
            matrix(blk + "attn_output.weight", shape.n_head*shape.d_head, shape.n_embd, 2.0f);

            norm  (blk + "ffn_norm.weight", shape.n_embd, 1.0f);
            matrix(blk + "ffn_gate.weight", shape.n_embd, shape.n_ff, 1.0f);
            matrix(blk + "ffn_up.weight",   shape.n_embd, shape.n_ff, 1.0f);
            matrix(blk + "ffn_down.weight", shape.n_ff, shape.n_embd, 1.0f);
        }
    }
};

static void write_data(const model_plan & plan, FILE * file) {
    std::map<std::pair<ggml_type, std::pair<float, float>>, random_values> sources;
    std::vector<char> row;

    const size_t alignment = gguf_get_alignment(plan.gguf.get());

    for (const tensor_plan & t : plan.tensors) {
        random_values & source = sources.try_emplace({ t.tensor->type, { t.mean, t.deviation } }, t.tensor->type, t.mean, t.deviation).first->second;

        row.resize(ggml_row_size(t.tensor->type, t.tensor->ne[0]));
        for (int64_t i = 0; i < ggml_nrows(t.tensor); ++i) {
            source.fill(row.data(), row.size());
            if (fwrite(row.data(), 1, row.size(), file) != row.size()) {
                die("cannot write");
            }
        }
        for (size_t n = ggml_nbytes(t.tensor); n % alignment != 0; ++n) {
            fputc(0, file);
        }
    }
}

int main(int argc, char ** argv) {
    if (argc != 11) {
        die("OUT f32|f16|bf16|q8_0 LAYERS HIDDEN HEADS KV_HEADS HEAD_SIZE FFN VOCAB TIED");
    }

    const std::map<std::string, ggml_type> types = {
        { "f32", GGML_TYPE_F32 }, { "f16", GGML_TYPE_F16 }, { "bf16", GGML_TYPE_BF16 }, { "q8_0", GGML_TYPE_Q8_0 },
    };
    if (!types.count(argv[2])) {
        die(std::string("unknown type ") + argv[2]);
    }

    const auto arg = [&](int i) { return (int64_t) atoll(argv[i]); };
    const model_shape shape = { types.at(argv[2]), arg(3), arg(4), arg(5), arg(6), arg(7), arg(8), arg(9), arg(10) != 0 };

    model_plan plan(shape);
    plan.metadata();
    plan.weights();

    const std::string path = argv[1];
    if (!gguf_write_to_file(plan.gguf.get(), (path + ".part").c_str(), true)) {
        die("cannot write " + path);
    }
    FILE * file = fopen((path + ".part").c_str(), "ab");
    if (!file) {
        die("cannot write " + path);
    }
    write_data(plan, file);
    if (fclose(file) != 0 || rename((path + ".part").c_str(), path.c_str()) != 0) {
        die("cannot write " + path);
    }
    return 0;
}
