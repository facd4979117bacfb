// A llama, Qwen3, Qwen3-VL, LFM2 or Gemma 3 model with random weights as GGUF: its metadata, and which tensors it has.
// Who writes it fills them in.

#pragma once

#include "gguf.h"

#include <cstdint>
#include <string>
#include <vector>

struct random_gguf_shape {
    // "llama"; "qwen3": heads normed before RoPE, which pairs the two halves of a head; "qwen3vl": the same, with
    // positions of several dimensions; "lfm2": as qwen3, and in place of every second attention, from the first layer
    // on, a short convolution; "gemma3": as qwen3, with a window of 32 in every other layer
    std::string arch;

    int64_t n_layer;
    int64_t n_embd;
    int64_t n_head;
    int64_t n_head_kv;
    int64_t d_head;
    int64_t n_ff;
    int64_t n_vocab;
    bool    tied; // the output is the embedding

    uint32_t n_ctx;
    float    freq_base;
    float    eps;

    // standard deviation of the attention logits
    float gain;
};

struct random_gguf_tensor {
    std::string name;

    int64_t n_in;
    int64_t n_out; // 1: a norm, F32 in every file

    float mean;
    float deviation;
};

// no tokenizer: token ids only
void random_gguf_set_metadata(gguf_context * gguf, const random_gguf_shape & shape);

std::vector<random_gguf_tensor> random_gguf_tensors(const random_gguf_shape & shape);
