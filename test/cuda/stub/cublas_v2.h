// Declares what ggml-cuda mentions of cuBLAS, and no more: a toolkit may come without it. The functions are those of
// bench/gpu/dry-run, which multiply nothing and note each call: on the interpreter, MMQ and other kernels multiply.

#pragma once

typedef void * cublasHandle_t;

typedef enum {
    CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_INVALID_VALUE,
    CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_MAPPING_ERROR, CUBLAS_STATUS_EXECUTION_FAILED, CUBLAS_STATUS_INTERNAL_ERROR,
    CUBLAS_STATUS_NOT_SUPPORTED,
} cublasStatus_t;
typedef enum { CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68 } cublasComputeType_t;
enum { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_TF32_TENSOR_OP_MATH = 3, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };

#define cublasCreate       cublasCreate_v2
#define cublasDestroy      cublasDestroy_v2
#define cublasSetStream    cublasSetStream_v2
#define cublasSetWorkspace cublasSetWorkspace_v2
#define cublasSgemm        cublasSgemm_v2

extern "C" {
const char *   cublasGetStatusString(int status);
cublasStatus_t cublasCreate(void ** handle);
cublasStatus_t cublasDestroy(...);
cublasStatus_t cublasSetMathMode(...);
cublasStatus_t cublasSetStream(...);
cublasStatus_t cublasSetWorkspace(...);
cublasStatus_t cublasGemmEx(...);
cublasStatus_t cublasGemmBatchedEx(...);
cublasStatus_t cublasGemmStridedBatchedEx(...);
cublasStatus_t cublasSgemm(...);
}
