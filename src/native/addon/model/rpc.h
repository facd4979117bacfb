// Devices of other machines, by llama.cpp's RPC.

#pragma once

#include "ggml-backend.h"

#include <string>
#include <vector>

namespace addon {

// all devices of these servers, "host:port", in this order; llama.cpp keeps them until the process ends, and other
// models do not see them. Throws ERR_H2O_RPC for a server that cannot be reached, is another version or has no H2O;
// blocks until each has answered.
std::vector<ggml_backend_dev_t> rpc_devices(const std::vector<std::string> & servers);

} // namespace addon
