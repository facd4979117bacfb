#include "models.h"

#include "cpu-op.h"
#include "launch.h"

#include "agreement.h"
#include "tiny-model.h"

static void quiet(ggml_log_level, const char *, void *) {}

static int run(const tiny_model_params & params, int cc) {
    emu_current_device = { cc, 16, 99*1024 };

    const tiny_model tiny(params);

    llama_model * model = tiny.model.get();

    const auto before_decode = [](bool is_device) { emu_takes_cpu_ops = is_device; };

    // two blocks of queries, the second one short
    const agreement_setup setup  = { model, model, 64,  7, 16, 16, before_decode };
    const agreement_setup blocks = { model, model, 70, 7, 16, 48, before_decode };

    int n_wrong = 0;
    for (const agreement_case & c : agreement_cases()) {
        n_wrong += !check_agreement(c.policy == H2O_POLICY_QUERY ? blocks : setup, c);
    }
    return n_wrong;
}

int run_model_cases() {
    setenv("H2O_GRAPH_CHUNKS", "4", 1); // as on a device
    llama_log_set(quiet, nullptr);
    llama_backend_init();

    tiny_model_params on_tensor_cores;
    on_tensor_cores.arch   = "qwen3";
    on_tensor_cores.d_head = 64;

    tiny_model_params without;
    without.n_layer = 1;
    without.d_head  = 128;

    return run(on_tensor_cores, 860) + run(without, 750);
}
