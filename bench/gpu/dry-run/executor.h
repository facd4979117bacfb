// What runs kernels for cuda-runtime.cpp, if it is linked with something that does: test/cuda/ptx.

#pragma once

#include <cuda_runtime_api.h>

int dry_run_chip(); // of the device that cuda-runtime.cpp stands for

#define EXECUTOR extern "C" __attribute__((weak))

// image: as __cudaRegisterFatBinary gets it; host: the kernel's function on the host
EXECUTOR void executor_add_kernel(void * image, const void * host, const char * name);

// is_possible: whether a device would take the launch
EXECUTOR void executor_launch(const void * host, bool is_possible, dim3 grid, dim3 block, size_t n_smem, void ** args);

// bytes of shared memory that the kernel has without being given any
EXECUTOR size_t executor_static_smem(const void * host);

EXECUTOR void executor_add_memory(void * begin, size_t size);
EXECUTOR void executor_remove_memory(void * begin);

// what launches since the last call took, by kernel; so op-bench prints it beside the work of a step
EXECUTOR void executor_print_costs();

#undef EXECUTOR
