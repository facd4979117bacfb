// libFuzzer: any bytes as a model file, through the check that stands before llama.cpp. How to run it:
// docs/robustness.md

#include "model-check/model-check.h"

#include <cstdint>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    static const int         file = memfd_create("model", 0);
    static const std::string path = "/proc/self/fd/" + std::to_string(file);

    if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t) size) {
        __builtin_trap();
    }
    if (const auto head = addon::gguf_head_read(path)) {
        addon::file_check(*head);
        addon::split_check(*head, *head, 1);
        addon::split_check_whole(*head);
        addon::model_check(path, *head);
        addon::model_check_failed(path);
    }
    return 0;
}
