// Tiny models with random F32 weights, written as GGUF and loaded by llama.cpp like any other. The values depend on the
// seed, the tensor's name and its shape alone.

#pragma once

#include "llama-cpp.h"

#include <string>
#include <vector>

struct tiny_model_params {
    std::string arch = "llama"; // or another one of random-gguf.h

    int n_layer   = 2;
    int n_head    = 4;
    int n_head_kv = 2;
    int d_head    = 16;
    int n_embd    = 64;
    int n_ff      = 96;
    int n_vocab   = 256;
    int seed      = 1;

    // standard deviation of the attention logits
    float gain = 2.0f;
};

struct tiny_model {
    explicit tiny_model(const tiny_model_params & params = {});

    tiny_model_params params;
    llama_model_ptr   model;
};

// n random tokens
std::vector<llama_token> tiny_prompt(int n, int seed = 1);
