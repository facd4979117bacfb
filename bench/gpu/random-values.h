// Random values of one type in any number: cut at random places out of one long row that is drawn and encoded once,
// since drawing takes a hundred times as long as copying.

#pragma once

#include "ggml.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

class random_values {
public:
    explicit random_values(ggml_type type, float mean = 0.0f, float deviation = 1.0f)
        : block_size(ggml_type_size(type)), n_blocks(N/ggml_blck_size(type)), data(ggml_row_size(type, N)) {
        std::normal_distribution<float> normal(mean, deviation);
        std::vector<float> values(N);
        for (float & x : values) {
            x = normal(engine);
        }
        ggml_quantize_chunk(type, values.data(), data.data(), 0, 1, N, nullptr);
    }

    // n_bytes hold whole blocks
    void fill(char * dst, size_t n_bytes) {
        for (int64_t n_left = n_bytes/block_size; n_left > 0;) {
            const int64_t n     = std::min(n_left, n_blocks/2); // so that there are places to choose from
            const int64_t begin = engine() % (n_blocks - n + 1);

            memcpy(dst, data.data() + begin*block_size, n*block_size);
            dst    += n*block_size;
            n_left -= n;
        }
    }

private:
    static constexpr int64_t N = 1 << 20;

    size_t            block_size;
    int64_t           n_blocks;
    std::vector<char> data;
    std::mt19937_64   engine { 1 };
};
