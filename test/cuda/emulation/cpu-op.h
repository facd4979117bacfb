// Which kernels GGML_OP_H2O has on the CPU backend of this program.

#pragma once

extern bool emu_takes_cpu_ops; // the launchers and kernels of the CUDA backend, in emulation
