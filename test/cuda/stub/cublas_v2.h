// Stands in for cuBLAS where the toolkit comes without it: what ggml-cuda mentions, and no more. Its products end the
// program: on the interpreter, MMQ and other kernels of ggml-cuda multiply.

#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct cublasContext * cublasHandle_t;

typedef enum {
    CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_INVALID_VALUE,
    CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_MAPPING_ERROR, CUBLAS_STATUS_EXECUTION_FAILED, CUBLAS_STATUS_INTERNAL_ERROR,
    CUBLAS_STATUS_NOT_SUPPORTED,
} cublasStatus_t;
typedef enum { CUBLAS_DEFAULT_MATH, CUBLAS_TF32_TENSOR_OP_MATH = 3 } cublasMath_t;
typedef enum { CUBLAS_OP_N, CUBLAS_OP_T } cublasOperation_t;
typedef enum { CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68 } cublasComputeType_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 } cublasGemmAlgo_t;
enum { CUBLAS_SIDE_RIGHT = 1, CUBLAS_FILL_MODE_UPPER = 1, CUBLAS_DIAG_NON_UNIT = 0 };

extern "C" {
const char * cublasGetStatusString(int status);
}

#define CUBLAS_QUIET(name)                                                                                     \
    template <typename... Args> inline cublasStatus_t name(Args...) { return CUBLAS_STATUS_SUCCESS; }
#define CUBLAS_PRODUCT(name)                                                                                   \
    template <typename... Args> inline cublasStatus_t name(Args...) {                                          \
        printf("FAIL a product by cuBLAS, which is not here: %s\n", #name);                                    \
        exit(1);                                                                                               \
    }

CUBLAS_QUIET(cublasCreate)
CUBLAS_QUIET(cublasDestroy)
CUBLAS_QUIET(cublasSetMathMode)
CUBLAS_QUIET(cublasSetStream)
CUBLAS_QUIET(cublasSetWorkspace)

CUBLAS_PRODUCT(cublasGemmEx)
CUBLAS_PRODUCT(cublasGemmBatchedEx)
CUBLAS_PRODUCT(cublasGemmStridedBatchedEx)
CUBLAS_PRODUCT(cublasSgemm)
CUBLAS_PRODUCT(cublasSgemmBatched)
CUBLAS_PRODUCT(cublasSgemmStridedBatched)
CUBLAS_PRODUCT(cublasStrsmBatched)
