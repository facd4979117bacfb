// Writes a model of any shape with random weights, without a vocabulary: for measuring, and for comparing devices.
// Tensors are streamed, so that a model may be larger than memory.
//
//   random-model OUT f32|f16|bf16|q8_0 LAYERS HIDDEN HEADS KV_HEADS HEAD_SIZE FFN VOCAB TIED(0|1) [ARCH]
//
// ARCH: qwen3, or another one of random-gguf.h

#include "random-gguf.h"
#include "random-values.h"

#include "ggml-cpp.h"
#include "gguf.h"

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

struct tensor_plan {
    ggml_tensor * tensor;

    float mean;
    float deviation;
};

struct model_plan {
    ggml_context_ptr ctx  { ggml_init({ 16*1024*1024, nullptr, true }) };
    gguf_context_ptr gguf { gguf_init_empty() };

    std::vector<tensor_plan> tensors;

    model_plan(const random_gguf_shape & shape, ggml_type type) {
        random_gguf_set_metadata(gguf.get(), shape);

        for (const random_gguf_tensor & t : random_gguf_tensors(shape)) {
            ggml_tensor * tensor = t.n_out == 1 ? ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, t.n_in)
                                                : ggml_new_tensor_2d(ctx.get(), type, t.n_in, t.n_out);
            ggml_set_name(tensor, t.name.c_str());
            gguf_add_tensor(gguf.get(), tensor);
            tensors.push_back({ tensor, t.mean, t.deviation });
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
    if (argc != 11 && argc != 12) {
        die("OUT f32|f16|bf16|q8_0 LAYERS HIDDEN HEADS KV_HEADS HEAD_SIZE FFN VOCAB TIED [ARCH]");
    }

    const std::map<std::string, ggml_type> types = {
        { "f32", GGML_TYPE_F32 }, { "f16", GGML_TYPE_F16 }, { "bf16", GGML_TYPE_BF16 }, { "q8_0", GGML_TYPE_Q8_0 },
    };
    if (!types.count(argv[2])) {
        die(std::string("unknown type ") + argv[2]);
    }

    const auto arg = [&](int i) { return (int64_t) atoll(argv[i]); };
    const random_gguf_shape shape = {
        argc > 11 ? argv[11] : "qwen3", arg(3), arg(4), arg(5), arg(6), arg(7), arg(8), arg(9), arg(10) != 0, 1 << 20, 1e6f, 1e-6f, 2.0f,
    };

    const model_plan plan(shape, types.at(argv[2]));

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
