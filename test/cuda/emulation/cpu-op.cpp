// In the place of ops/cpu/h2o-cpu.cpp in libggml-cpu.a: the linker takes what it finds first.

#include "cpu-op.h"

#include "op.h"

#include "ggml-cpp.h"
#include "ggml-cpu.h"

#define ggml_compute_forward_h2o h2o_forward_on_cpu
#include "../cpu/h2o-cpu.cpp"
#undef ggml_compute_forward_h2o

#include <vector>

// of a build with CUDA: no device here
extern "C" void * ggml_backend_cuda_reg() {
    return nullptr;
}

bool emu_takes_cpu_ops = false;

extern "C" void ggml_compute_forward_h2o(const ggml_compute_params * params, ggml_tensor * dst) {
    if (!emu_takes_cpu_ops) {
        h2o_forward_on_cpu(params, dst);
    } else if (params->ith == 0) {
        emu_compute(dst);
    }
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
