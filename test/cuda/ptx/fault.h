// What a device would fault on, or leave undefined, ends a launch.

#pragma once

#include "program.h"

#include <stdexcept>

namespace ptx {

// addresses of shared memory, in its own space and as generic ones; nothing lies at 0
constexpr uint64_t SHARED_BEGIN   = 1024;
constexpr uint64_t SHARED_GENERIC = 1ull << 60;
constexpr uint64_t LOCAL_GENERIC  = 1ull << 61;

struct device_fault : std::runtime_error { using runtime_error::runtime_error; };

[[noreturn]] inline void fault(const std::string & what, const instr * in = nullptr) {
    throw device_fault(what + (in ? ", line " + std::to_string(in->line) + ": " + in->text : ""));
}

} // namespace ptx
