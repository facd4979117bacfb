// GGML_OP_H2O as the CUDA backend computes it, launchers and kernels, on a device that is interpreted.

#pragma once

#include "ggml-cpp.h"

#include <cstring>
#include <vector>

// what the launchers are told of the device; cc as ggml counts it: 860
void set_device(int cc, int n_multiprocessors, size_t n_shared);

void device_compute (ggml_tensor * dst); // the device has to have a kernel for it
bool device_supports(const ggml_tensor * dst);

void cpu_compute(ggml_tensor * dst); // with the CPU's own kernels

// for the tensors of one case, without their data
ggml_context_ptr new_context();

// a tensor without a buffer: contiguous, over data that is there
ggml_tensor * new_tensor(
        ggml_context * ctx, ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3, const void * data);

// Device memory, of the very size. Filled with NaN.
class device_buffer {
public:
    explicit device_buffer(size_t size);
    ~device_buffer();

    template <typename T>
    explicit device_buffer(const std::vector<T> & x) : device_buffer(x.size()*sizeof(T)) {
        if (!x.empty()) memcpy(begin, x.data(), x.size()*sizeof(T));
    }

    device_buffer(const device_buffer &) = delete;
    device_buffer & operator=(const device_buffer &) = delete;

    char * data() const { return begin; }

    template <typename T>
    T * as() const { return (T *) begin; }

private:
    char * begin;
};
