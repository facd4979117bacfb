#include "rpc.h"

#include "runtime/failure.h"
#include "runtime/log.h"

#include <stdexcept>

namespace addon {

typedef ggml_backend_reg_t (*add_server_fn)(const char * endpoint);

static add_server_fn find_add_server() {
    const ggml_backend_reg_t rpc = ggml_backend_reg_by_name("RPC");
    if (!rpc) {
        throw failure("ERR_H2O_INVALID_ARGUMENT",
            "this binary was built without RPC: h2o-prefill build -D GGML_RPC=ON", {{"option", "rpc"}});
    }
    return (add_server_fn) ggml_backend_reg_get_proc_address(rpc, "ggml_backend_rpc_add_server");
}

static ggml_backend_reg_t add_server(add_server_fn add, const std::string & server) {
    log_capture log;
    std::string reason = "it has no devices";
    try {
        if (const ggml_backend_reg_t reg = add(server.c_str())) {
            return reg;
        }
    } catch (const std::runtime_error & err) { // an assertion
        reason = err.what();
    }
    throw failure("ERR_H2O_RPC", "cannot use RPC server " + server + ": " + reason,
        {{"server", server}, {"log", log.text()}});
}

std::vector<ggml_backend_dev_t> rpc_devices(const std::vector<std::string> & servers) {
    std::vector<ggml_backend_dev_t> devices;
    if (servers.empty()) {
        return devices;
    }
    const add_server_fn add = find_add_server();
    for (const std::string & server : servers) {
        const ggml_backend_reg_t reg = add_server(add, server);
        for (size_t i = 0; i < ggml_backend_reg_dev_count(reg); ++i) {
            devices.push_back(ggml_backend_reg_dev_get(reg, i));
        }
    }
    return devices;
}

} // namespace addon
