#include "cpu-threads.h"

#include "ggml-backend.h"
#include "ggml-cpu.h"

#include <algorithm>

namespace addon {

void cpu_threads::start(llama_context * ctx) {
    const int n_threads = std::max(llama_n_threads(ctx), llama_n_threads_batch(ctx));

    // looked up, because the backend may be a library that was loaded at run time
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
    auto * new_pool = (decltype(&ggml_threadpool_new)) ggml_backend_reg_get_proc_address(reg, "ggml_threadpool_new");
    free_pool = (decltype(&ggml_threadpool_free)) ggml_backend_reg_get_proc_address(reg, "ggml_threadpool_free");

    // a thread without work sleeps at once: others may need the processor
    ggml_threadpool_params params = ggml_threadpool_params_default(n_threads);
    params.poll = 0;

    pool = new_pool(&params);
    llama_attach_threadpool(ctx, pool, pool);
}

cpu_threads::~cpu_threads() {
    if (pool) {
        free_pool(pool);
    }
}

} // namespace addon
