// One small model on the CPU and on the first GPU: agreement.h says what is compared. Fails without a GPU. Run by
// bench/gpu/run.sh, and by test/cuda on an interpreter.
//
//   device-check MODEL CHUNK CHUNKS [CASE...]
//
// CHUNK: tokens; CHUNKS: of the prompt; CASE: the name of one that is wanted, of agreement.cpp; otherwise all are

#include "agreement.h"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

static void log_problems(ggml_log_level level, const char * text, void *) {
    if (level == GGML_LOG_LEVEL_ERROR || level == GGML_LOG_LEVEL_WARN) {
        fputs(text, stderr);
    }
}

static llama_model * load(const char * path, int n_gpu_layers) {
    llama_model_params params = llama_model_default_params();
    params.n_gpu_layers = n_gpu_layers;

    ggml_backend_dev_t no_devices[] = { nullptr };
    if (n_gpu_layers == 0) {
        params.devices = no_devices;
    }
    llama_model * model = llama_model_load_from_file(path, params);
    if (!model) {
        fprintf(stderr, "cannot load %s\n", path);
        exit(1);
    }
    return model;
}

static bool has_gpu() {
    return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU) || ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_IGPU);
}

int main(int argc, char ** argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: device-check MODEL CHUNK CHUNKS [CASE...]\n");
        return 2;
    }
    // stock sums products of F16 weights in F16, and rounds those of F32 to TF32; that is its choice, and no matter of what
    // is checked here
    setenv("GGML_CUDA_CUBLAS_COMPUTE_TYPE", "f32", 1);
    setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
    // the CPU searches keys and attends in F32, not rounded
    setenv("H2O_AMX",   "0", 1);
    setenv("H2O_INT8",  "0", 1);
    setenv("H2O_INT16", "0", 1);

    setvbuf(stdout, nullptr, _IOLBF, BUFSIZ); // what was found is out before anything aborts
    llama_log_set(log_problems, nullptr);
    llama_backend_init();

    if (!has_gpu()) {
        fprintf(stderr, "FAIL no GPU: there is nothing to compare the CPU with\n");
        return 1;
    }

    const agreement_setup setup = { load(argv[1], 0), load(argv[1], 999), atoi(argv[2]), atoi(argv[3]), 32, 64, 3 };

    const std::set<std::string> wanted(argv + 4, argv + argc);

    bool   ok      = true;
    size_t n_cases = 0;
    for (const agreement_case & c : agreement_cases()) {
        if (wanted.empty() || wanted.count(c.name)) {
            ok = check_agreement(setup, c) && ok;
            n_cases++;
        }
    }
    if (n_cases < wanted.size()) {
        fprintf(stderr, "FAIL a case that there is not\n");
        ok = false;
    }

    llama_model_free(setup.on_device);
    llama_model_free(setup.on_cpu);
    return ok ? 0 : 1;
}
