#include "compute-threads.h"

#include "thread-limit.h"

#include "ggml-backend.h"
#include "ggml-cpu.h"

namespace addon {

// the CPU backend may be a library that is loaded at run time: it is asked for its functions by name
template <typename function>
static function * cpu_function(const char * name) {
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    return cpu ? (function *) ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu), name) : nullptr;
}

void compute_threads::start(int n) {
    require_threads(n - 1);

    auto * make = cpu_function<decltype(ggml_threadpool_new)>("ggml_threadpool_new");
    if (make && n > 1) {
        ggml_threadpool_params params = ggml_threadpool_params_default(n);
        params.poll = 0; // a thread without work sleeps at once: others need the cores
        pool = make(&params);
    }
}

void compute_threads::stop() {
    if (pool) {
        cpu_function<decltype(ggml_threadpool_free)>("ggml_threadpool_free")(pool);
        pool = nullptr;
    }
}

void compute_threads::attach(llama_context * ctx) const {
    if (pool) {
        llama_attach_threadpool(ctx, pool, pool);
    }
}

} // namespace addon
