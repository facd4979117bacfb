// GGML_OP_H2O as the CUDA backend computes it, launchers and kernels, on tensors whose data lies in emu_buffers.

#pragma once

#include "ggml-cpp.h"

// on emu_current_device, which has to have a kernel for it
void emu_compute (ggml_tensor * dst);
bool emu_supports(const ggml_tensor * dst);

// for the tensors of one case, without their data
ggml_context_ptr emu_new_context();

// a tensor without a buffer: contiguous, over data that is there
ggml_tensor * emu_new_tensor(
        ggml_context * ctx, ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3, const void * data);
