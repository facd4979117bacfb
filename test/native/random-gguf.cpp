#include "random-gguf.h"

#include <cmath>

// taps of LFM2's convolution
static const int64_t n_taps = 3;

static bool is_recurrent(const random_gguf_shape & shape, int64_t il) {
    return shape.arch == "lfm2" && il % 2 == 0;
}

void random_gguf_set_metadata(gguf_context * gguf, const random_gguf_shape & shape) {
    const auto u32 = [&](const char * key, int64_t value) { gguf_set_val_u32(gguf, (shape.arch + "." + key).c_str(), value); };
    const auto f32 = [&](const char * key, float   value) { gguf_set_val_f32(gguf, (shape.arch + "." + key).c_str(), value); };

    gguf_set_val_str(gguf, "general.architecture", shape.arch.c_str());
    gguf_set_val_str(gguf, "general.name", "random weights");
    gguf_set_val_str(gguf, "tokenizer.ggml.model", "no_vocab");

    u32("vocab_size",           shape.n_vocab);
    u32("context_length",       shape.n_ctx);
    u32("embedding_length",     shape.n_embd);
    u32("feed_forward_length",  shape.n_ff);
    u32("block_count",          shape.n_layer);
    u32("rope.dimension_count", shape.d_head);
    f32("rope.freq_base",       shape.freq_base);
    if (shape.arch == "qwen3vl") {
        const uint32_t n_pairs = shape.d_head/2; // time, height, width, nothing
        const uint32_t sections[] = { n_pairs - 2*(n_pairs/3), n_pairs/3, n_pairs/3, 0 };
        gguf_set_arr_data(gguf, "qwen3vl.rope.dimension_sections", GGUF_TYPE_UINT32, sections, 4);
    }

    u32("attention.head_count",             shape.n_head);
    u32("attention.head_count_kv",          shape.n_head_kv);
    u32("attention.key_length",             shape.d_head);
    u32("attention.value_length",           shape.d_head);
    f32("attention.layer_norm_rms_epsilon", shape.eps);

    if (shape.arch == "lfm2") {
        std::vector<uint32_t> n_head_kv;
        for (int64_t il = 0; il < shape.n_layer; ++il) {
            n_head_kv.push_back(is_recurrent(shape, il) ? 0 : shape.n_head_kv);
        }
        gguf_set_arr_data(gguf, "lfm2.attention.head_count_kv", GGUF_TYPE_UINT32, n_head_kv.data(), n_head_kv.size());
        u32("shortconv.l_cache", n_taps);
    }
    if (shape.arch == "gemma3") {
        u32("attention.sliding_window",         32);
        u32("attention.sliding_window_pattern", 2); // every other layer has none
    }
}

std::vector<random_gguf_tensor> random_gguf_tensors(const random_gguf_shape & shape) {
    const bool is_gemma  = shape.arch == "gemma3";
    const bool is_normed = shape.arch != "llama";

    // of the deviation of the logits one half is in q, one in k; where heads are normed, in the norms
    const float gain    = std::sqrt(shape.gain);
    const float gain_qk = is_normed ? 1.0f : gain;

    std::vector<random_gguf_tensor> res;

    const auto matrix = [&](const std::string & name, int64_t n_in, int64_t n_out, float gain) {
        res.push_back({ name, n_in, n_out, 0.0f, gain/std::sqrt((float) n_in) });
    };
    const auto norm = [&](const std::string & name, int64_t n, float mean) {
        res.push_back({ name, n, 1, mean, 0.2f*mean });
    };

    res.push_back({ "token_embd.weight", shape.n_embd, shape.n_vocab, 0.0f, 1.0f });
    norm(shape.arch == "lfm2" ? "token_embd_norm.weight" : "output_norm.weight", shape.n_embd, 1.0f);
    if (!shape.tied) {
        matrix("output.weight", shape.n_embd, shape.n_vocab, 2.0f);
    }

    for (int64_t il = 0; il < shape.n_layer; ++il) {
        const std::string blk = "blk." + std::to_string(il) + ".";

        norm(blk + "attn_norm.weight", shape.n_embd, 1.0f);
        if (is_recurrent(shape, il)) {
            matrix(blk + "shortconv.in_proj.weight",  shape.n_embd, 3*shape.n_embd, 1.0f);
            matrix(blk + "shortconv.conv.weight",     n_taps,       shape.n_embd,   1.0f);
            matrix(blk + "shortconv.out_proj.weight", shape.n_embd, shape.n_embd,   1.0f);
        } else {
            matrix(blk + "attn_q.weight", shape.n_embd, shape.n_head*shape.d_head,    gain_qk);
            matrix(blk + "attn_k.weight", shape.n_embd, shape.n_head_kv*shape.d_head, gain_qk);
            matrix(blk + "attn_v.weight", shape.n_embd, shape.n_head_kv*shape.d_head, 1.0f);
            if (is_normed) {
                norm(blk + "attn_q_norm.weight", shape.d_head, gain);
                norm(blk + "attn_k_norm.weight", shape.d_head, gain);
            }
            matrix(blk + "attn_output.weight", shape.n_head*shape.d_head, shape.n_embd, 2.0f);
        }

        norm  (blk + "ffn_norm.weight", shape.n_embd, 1.0f);
        matrix(blk + "ffn_gate.weight", shape.n_embd, shape.n_ff, 1.0f);
        matrix(blk + "ffn_up.weight",   shape.n_embd, shape.n_ff, 1.0f);
        matrix(blk + "ffn_down.weight", shape.n_ff, shape.n_embd, 1.0f);

        if (is_gemma) {
            norm(blk + "post_attention_norm.weight", shape.n_embd, 1.0f);
            norm(blk + "post_ffw_norm.weight",       shape.n_embd, 1.0f);
        }
    }
    return res;
}
