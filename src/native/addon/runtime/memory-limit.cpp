#include "memory-limit.h"

#include "failure.h"

#include <cmath>
#include <cstdint>

namespace addon {

// for V8's young generation, and for the 64 MiB that glibc reserves when a thread first allocates
static constexpr double address_reserve = 128.0 * 1024 * 1024;

void require_room(const std::string & what, double n, const memory_room & room) {
    const auto mib = [](double bytes) { return std::to_string((int64_t) std::ceil(bytes / 1024 / 1024)) + " MiB"; };

    if (n > room.bytes) {
        throw failure("ERR_H2O_CONTEXT_MEMORY",
            what + " needs " + mib(n) + " and " + room.limit + " leaves " + mib(room.bytes),
            {{"bytes", n}, {"memory", room.bytes}, {"limit", room.limit}});
    }
}

void require_memory(const std::string & what, double n_map, double n_use) {
    require_room(what, n_map + address_reserve, address_room());
    require_room(what, n_use, cgroup_room());
}

} // namespace addon
