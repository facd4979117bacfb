#include "memory-room.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#ifdef __linux__
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace addon {

#ifdef __linux__

memory_room address_room() {
    rlimit limit{};
    double n_pages = 0.0;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        !(std::ifstream("/proc/self/statm") >> n_pages)) {
        return { INFINITY, "" };
    }
    return { std::max(0.0, (double) limit.rlim_cur - n_pages * sysconf(_SC_PAGESIZE)), "ulimit -v" };
}

#else

memory_room address_room() { return { INFINITY, "" }; }

#endif

// a number behind `key` in a file of lines, or without `key` the first; NAN if it is not there
static double read_number(const std::string & path, const std::string & key) {
    std::ifstream file(path);
    std::string   word;
    double        value = NAN;

    while (!key.empty() && file >> word && word != key) {}
    return file >> value ? value : NAN;
}

memory_room cgroup_room(const std::string & mount, const std::string & self) {
    memory_room room = { INFINITY, "" };

    std::ifstream file(self);
    for (std::string line; std::getline(file, line); ) { // number:controllers:path
        const size_t controllers = line.find(':') + 1;
        const size_t path        = line.find(':', controllers) + 1;
        if (controllers == 0 || path == 0) {
            continue;
        }
        const std::string names = "," + line.substr(controllers, path - 1 - controllers) + ",";
        const bool        is_v2 = names == ",,";
        if (!is_v2 && names.find(",memory,") == std::string::npos) {
            continue;
        }

        // its own group and all above; within a container the path may be the host's, and only the mount is there
        std::string group = line.substr(path);
        for (;;) {
            group.erase(group.find_last_not_of('/') + 1);
            const std::string folder = mount + (is_v2 ? "" : "/memory") + group + "/";

            const double limit = read_number(folder + (is_v2 ? "memory.max" : "memory.limit_in_bytes"), "");
            const double used  = read_number(folder + "memory.stat", is_v2 ? "anon" : "total_rss");
            if (limit - used < room.bytes) { // not if one is NAN
                room = { std::max(0.0, limit - used), "memory cgroup " + (group.empty() ? "/" : group) };
            }
            if (group.empty()) {
                break;
            }
            const size_t up = group.rfind('/');
            group.erase(up == std::string::npos ? 0 : up);
        }
    }
    return room;
}

} // namespace addon
