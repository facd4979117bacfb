// A stand-in for the CUDA runtime and cuBLAS, to be preloaded or linked: a device, or DRY_RUN_DEVICES of them, whose
// memory is the host's. Its kernels do nothing, unless an executor is linked with it (executor.h). So ggml-cuda's host
// code runs to its end without a GPU, and what it asks of the device is written to the file that DRY_RUN_LOG names, a
// line each with tabs between:
//
//   launch NAME GRID BLOCK SHARED DEVICE    copy KIND BYTES    set BYTES    malloc BYTES    graph
//   limit NAME GRID BLOCK SHARED DEVICE     a launch that no device would take
//
// DRY_RUN_CHIP: 75, 80, 86, 87 or 90, which it is without it.

#include "executor.h"

#include <cxxabi.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

int dry_run_chip() {
    const char * text = getenv("DRY_RUN_CHIP");
    return text ? atoi(text) : 90;
}

static const int    N_SM        = 132;
static const size_t SMEM        = 48*1024;
static const size_t SMEM_OPT_IN = (dry_run_chip() < 80 ? 64 : dry_run_chip() == 86 ? 99 : dry_run_chip() < 90 ? 163 : 227)*1024;
static const size_t MEMORY      = 140ull << 30; // reserved where it is asked for, there where it is touched

static std::map<const void *, std::string> names;   // of kernels, by their host functions
static std::map<const void *, size_t>      allowed; // dynamic shared memory
static std::map<void *, size_t>            sizes;   // of device memory
static size_t                              n_used;
static bool                                is_capturing;
static std::mutex                          mutex;

static thread_local int current_device = 0;

static void note(const char * format, ...) {
    static FILE * file = getenv("DRY_RUN_LOG") ? fopen(getenv("DRY_RUN_LOG"), "a") : nullptr;
    if (!file) {
        return;
    }
    va_list args;
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
}

static std::string name_of(const void * kernel) {
    const auto it = names.find(kernel);
    if (it == names.end()) {
        return "?";
    }
    int    status;
    char * name = abi::__cxa_demangle(it->second.c_str(), nullptr, nullptr, &status);
    const std::string res = name ? name : it->second;
    free(name);
    return res;
}

static size_t static_smem(const void * kernel) {
    return executor_static_smem ? executor_static_smem(kernel) : 0;
}

static cudaError_t launch(const void * kernel, dim3 grid, dim3 block, size_t n_smem, void ** args) {
    const size_t n_threads = (size_t) block.x*block.y*block.z;
    const size_t n_blocks  = (size_t) grid.x*grid.y*grid.z;

    const bool is_possible = n_blocks > 0 && grid.x <= 0x7fffffff && grid.y <= 0xffff && grid.z <= 0xffff &&
        n_threads > 0 && n_threads <= 1024 && block.z <= 64 && n_smem <= std::max(SMEM - static_smem(kernel), allowed[kernel]);

    note("%s\t%s\t%u %u %u\t%u %u %u\t%zu\t%d\n", is_possible ? "launch" : "limit", name_of(kernel).c_str(),
            grid.x, grid.y, grid.z, block.x, block.y, block.z, n_smem, current_device);
    if (executor_launch) {
        executor_launch(kernel, is_possible, grid, block, n_smem, args);
    }
    return cudaSuccess;
}

static const char * kind_name(cudaMemcpyKind kind) {
    switch (kind) {
        case cudaMemcpyHostToDevice:   return "to-device";
        case cudaMemcpyDeviceToHost:   return "to-host";
        case cudaMemcpyDeviceToDevice: return "on-device";
        default:                       return "other";
    }
}

extern "C" {

//
// what nvcc puts around kernels
//

void ** __cudaRegisterFatBinary(void * image) { return (void **) image; }
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int) {}

void __cudaRegisterFunction(
        void ** image, const char * host, char *, const char * name, int, uint3 *, uint3 *, dim3 *, dim3 *, int *) {
    names[host] = name;
    if (executor_add_kernel) {
        executor_add_kernel(image, host, name);
    }
}

static struct {
    dim3   grid;
    dim3   block;
    size_t n_smem;
    void * stream;
} configuration;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t n_smem, struct CUstream_st * stream) {
    configuration = { grid, block, n_smem, stream };
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 * grid, dim3 * block, size_t * n_smem, void * stream) {
    *grid             = configuration.grid;
    *block            = configuration.block;
    *n_smem           = configuration.n_smem;
    *(void **) stream = configuration.stream;
    return cudaSuccess;
}

#if CUDART_VERSION >= 12000
cudaError_t __cudaGetKernel(cudaKernel_t * kernel, const void * host) {
    *kernel = (cudaKernel_t) host;
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void ** args, size_t n_smem, cudaStream_t) {
    return launch((const void *) kernel, grid, block, n_smem, args);
}
#endif

//
// the runtime
//

cudaError_t cudaLaunchKernel(const void * kernel, dim3 grid, dim3 block, void ** args, size_t n_smem, cudaStream_t) {
    return launch(kernel, grid, block, n_smem, args);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t * config, const void * kernel, void ** args) {
    return launch(kernel, config->gridDim, config->blockDim, config->dynamicSmemBytes, args);
}
cudaError_t cudaLaunchCooperativeKernel(const void * kernel, dim3 grid, dim3 block, void ** args, size_t n_smem, cudaStream_t) {
    return launch(kernel, grid, block, n_smem, args);
}

cudaError_t cudaFuncSetAttribute(const void * kernel, cudaFuncAttribute attribute, int value) {
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        if (value + static_smem(kernel) > SMEM_OPT_IN) {
            return cudaErrorInvalidValue;
        }
        allowed[kernel] = value;
    }
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes * res, const void *) {
    *res = {};
    res->ptxVersion                = dry_run_chip();
    res->binaryVersion             = dry_run_chip();
    res->maxThreadsPerBlock        = 1024;
    res->maxDynamicSharedSizeBytes = SMEM;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int * n, const void *, int, size_t, unsigned) {
    *n = 2;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int * n) {
    const char * text = getenv("DRY_RUN_DEVICES");
    *n = text ? atoi(text) : 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int * device)  { *device = current_device; return cudaSuccess; }
cudaError_t cudaSetDevice(int device)    { current_device = device; return cudaSuccess; }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize()      { return cudaSuccess; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp * res, int) {
    *res = {};
    strcpy(res->name, "no device");
    res->major                       = dry_run_chip()/10;
    res->minor                       = dry_run_chip()%10;
    res->multiProcessorCount         = N_SM;
    res->sharedMemPerBlock           = SMEM;
    res->sharedMemPerBlockOptin      = SMEM_OPT_IN;
    res->sharedMemPerMultiprocessor  = SMEM_OPT_IN + 1024;
    res->totalGlobalMem              = MEMORY;
    res->warpSize                    = 32;
    res->maxThreadsPerBlock          = 1024;
    res->regsPerBlock                = 65536;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int * value, cudaDeviceAttr attribute, int) {
    *value = attribute == cudaDevAttrCooperativeLaunch ? 1 :
             attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? SMEM_OPT_IN : 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char * id, int n, int device) {
    snprintf(id, n, "0000:%02x:00.0", device);
    return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int * can, int, int)   { *can = 0; return cudaSuccess; }
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned)      { return cudaSuccess; }

const char * cudaGetErrorString(cudaError_t) { return "an error of the dry run"; }
cudaError_t  cudaGetLastError()              { return cudaSuccess; }
cudaError_t  cudaPeekAtLastError()           { return cudaSuccess; }

cudaError_t cudaMalloc(void ** p, size_t n) {
    *p = mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (*p == MAP_FAILED) {
        return cudaErrorMemoryAllocation;
    }
    note("malloc\t%zu\n", n);
    const std::lock_guard<std::mutex> lock(mutex);
    sizes[*p] = n;
    n_used   += n;
    if (executor_add_memory) {
        executor_add_memory(*p, n);
    }
    return cudaSuccess;
}
cudaError_t cudaFree(void * p) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (p) {
        if (executor_remove_memory) {
            executor_remove_memory(p);
        }
        munmap(p, sizes[p]);
        n_used -= sizes[p];
        sizes.erase(p);
    }
    return cudaSuccess;
}
cudaError_t cudaMallocManaged(void ** p, size_t n, unsigned) { return cudaMalloc(p, n); }
cudaError_t cudaMallocHost(void ** p, size_t n) {
    *p = aligned_alloc(64, (n + 63)/64*64);
    return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaHostAlloc(void ** p, size_t n, unsigned) { return cudaMallocHost(p, n); }
cudaError_t cudaFreeHost(void * p)                       { free(p); return cudaSuccess; }
cudaError_t cudaHostRegister(void *, size_t, unsigned)   { return cudaSuccess; }
cudaError_t cudaHostUnregister(void *)                   { return cudaSuccess; }
cudaError_t cudaHostGetDevicePointer(void ** device, void * host, unsigned) {
    *device = host;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t * n_free, size_t * n_total) {
    *n_free  = MEMORY - n_used;
    *n_total = MEMORY;
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void * dst, const void * src, size_t n, cudaMemcpyKind kind, cudaStream_t) {
    note("copy\t%s\t%zu\n", kind_name(kind), n);
    memmove(dst, src, n);
    return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(
        void * dst, size_t dst_pitch, const void * src, size_t src_pitch, size_t width, size_t height, cudaMemcpyKind kind,
        cudaStream_t) {
    note("copy\t%s\t%zu\n", kind_name(kind), width*height);
    for (size_t i = 0; i < height; ++i) {
        memmove((char *) dst + i*dst_pitch, (const char *) src + i*src_pitch, width);
    }
    return cudaSuccess;
}
cudaError_t cudaMemcpyPeerAsync(void * dst, int, const void * src, int, size_t n, cudaStream_t) {
    note("copy\tto-peer\t%zu\n", n);
    memmove(dst, src, n);
    return cudaSuccess;
}
cudaError_t cudaMemset(void * p, int value, size_t n) {
    note("set\t%zu\n", n);
    if (executor_launch) { // otherwise nobody reads it, and a large cache is never touched
        memset(p, value, n);
    }
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void * p, int value, size_t n, cudaStream_t) { return cudaMemset(p, value, n); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t * stream, unsigned)         { *stream = (cudaStream_t) malloc(1); return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t stream)                             { free(stream); return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t)                                { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned)           { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t * event, unsigned)            { *event = (cudaEvent_t) malloc(1); return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t event)                                { free(event); return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t)                         { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t)                                  { return cudaSuccess; }

cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus * status) {
    *status = is_capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) { is_capturing = true; return cudaSuccess; }
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t * graph) {
    is_capturing = false;
    *graph = (cudaGraph_t) &is_capturing;
    return cudaSuccess;
}
#if CUDART_VERSION >= 12000
cudaError_t cudaGraphInstantiate(cudaGraphExec_t * exec, cudaGraph_t, unsigned long long) {
#else
cudaError_t cudaGraphInstantiate(cudaGraphExec_t * exec, cudaGraph_t, cudaGraphNode_t *, char *, size_t) {
#endif
    *exec = (cudaGraphExec_t) &is_capturing;
    return cudaSuccess;
}
#if CUDART_VERSION >= 12000
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t, cudaGraph_t, cudaGraphExecUpdateResultInfo *) { return cudaSuccess; }
#else
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t, cudaGraph_t, cudaGraphNode_t *, cudaGraphExecUpdateResult *) { return cudaSuccess; }
#endif
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { note("graph\n"); return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t)          { return cudaSuccess; }
cudaError_t cudaGraphDestroy(cudaGraph_t)                  { return cudaSuccess; }

//
// cuBLAS
//

static int product() {
    note("launch\tcublas\t\t\t0\t%d\n", current_device);
    return 0;
}

int cublasCreate_v2(void ** handle) { *handle = &n_used; return 0; }
int cublasDestroy_v2(...)           { return 0; }
int cublasSetMathMode(...)          { return 0; }
int cublasSetStream_v2(...)         { return 0; }
int cublasSetWorkspace_v2(...)      { return 0; }

const char * cublasGetStatusString(int) { return "an error of the dry run"; }

int cublasGemmEx(...)               { return product(); }
int cublasGemmBatchedEx(...)        { return product(); }
int cublasGemmStridedBatchedEx(...) { return product(); }
int cublasSgemm_v2(...)             { return product(); }
int cublasSgemmBatched(...)         { return product(); }
int cublasSgemmStridedBatched(...)  { return product(); }
int cublasStrsmBatched(...)         { return product(); }

}
