// Stands in for cuBLAS where the toolkit comes without it: what ggml-cuda's headers mention, and no more. For compiling
// our kernels and looking at the report; nothing is linked.

#pragma once

#include <stddef.h>

typedef struct cublasContext * cublasHandle_t;

typedef enum { CUBLAS_STATUS_SUCCESS = 0 } cublasStatus_t;
typedef enum { CUBLAS_TF32_TENSOR_OP_MATH = 3 } cublasMath_t;

const char * cublasGetStatusString(cublasStatus_t status);

cublasStatus_t cublasCreate(cublasHandle_t * handle);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void * workspace, size_t size);
