// How much more memory the system grants this process, where it sets a limit: `ulimit -v` on its addresses, the memory
// cgroup of a container on what it uses.

#pragma once

#include <string>

namespace addon {

struct memory_room {
    double      bytes; // INFINITY: no limit
    std::string limit; // its name
};

// addresses left below RLIMIT_AS
memory_room address_room();

// bytes left below the tightest limit of the cgroups above this process, both versions; what the kernel can drop by
// itself (files) counts as free. The two paths are for tests
memory_room cgroup_room(const std::string & mount = "/sys/fs/cgroup", const std::string & self = "/proc/self/cgroup");

} // namespace addon
