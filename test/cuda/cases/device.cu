// In the place of ggml-cuda.cu: one device, and a pool whose buffers are new ones each time.

#include "device.h"

#include "ggml-cpu.h"
#include "h2o-cuda.cuh"

static ggml_cuda_device_info info;

void set_device(int cc, int n_multiprocessors, size_t n_shared) {
    info.device_count = 1;
    info.devices[0].cc    = cc;
    info.devices[0].nsm   = n_multiprocessors;
    info.devices[0].smpbo = n_shared;
}

const ggml_cuda_device_info & ggml_cuda_info() { return info; }

int  ggml_cuda_get_device()    { return 0; }
void ggml_cuda_set_device(int) {}

void ggml_cuda_error(const char * stmt, const char *, const char * file, int line, const char * message) {
    ggml_abort(file, line, "%s: %s", stmt, message);
}

struct case_pool : ggml_cuda_pool {
    void * alloc(size_t size, size_t * actual_size) override {
        void * res;
        CUDA_CHECK(cudaMalloc(&res, std::max<size_t>(size, 1)));
        CUDA_CHECK(cudaMemset(res, 0xff, size));
        *actual_size = size;
        return res;
    }
    void free(void * ptr, size_t) override { CUDA_CHECK(cudaFree(ptr)); }
};

std::unique_ptr<ggml_cuda_pool> ggml_backend_cuda_context::new_pool_for_device(int, int) {
    return std::make_unique<case_pool>();
}
ggml_backend_cuda_context::~ggml_backend_cuda_context() {}

void device_compute(ggml_tensor * dst) {
    GGML_ASSERT(device_supports(dst));

    ggml_backend_cuda_context ctx(0);
    ggml_cuda_h2o(ctx, dst);
}

bool device_supports(const ggml_tensor * dst) {
    return ggml_cuda_h2o_supported(0, dst);
}

void cpu_compute(ggml_tensor * dst) {
    const ggml_context_ptr ctx(ggml_init({ ggml_graph_overhead(), nullptr, true }));

    ggml_cgraph * gf = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(gf, dst);

    ggml_cplan plan = ggml_graph_plan(gf, 1, nullptr);
    std::vector<uint8_t> work(plan.work_size);
    plan.work_data = work.data();

    ggml_graph_compute(gf, &plan);
}

ggml_context_ptr new_context() {
    return ggml_context_ptr(ggml_init({ 16*ggml_tensor_overhead(), nullptr, true }));
}

ggml_tensor * new_tensor(
        ggml_context * ctx, ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3, const void * data) {
    ggml_tensor * t = ggml_new_tensor_4d(ctx, type, ne0, ne1, ne2, ne3);
    t->data = (void *) data;
    return t;
}

device_buffer::device_buffer(size_t size) : begin((char *) case_pool().alloc(size, &size)) {}
device_buffer::~device_buffer() { case_pool().free(begin, 0); }
