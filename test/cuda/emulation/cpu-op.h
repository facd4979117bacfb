// Which kernels GGML_OP_H2O has on the CPU backend of this program.

#pragma once

#include "ggml.h"

extern bool emu_takes_cpu_ops; // the launchers and kernels of the CUDA backend, in emulation

// GGML_OP_H2O with the CPU's own kernels, on a tensor that has data
void cpu_compute(ggml_tensor * dst);
