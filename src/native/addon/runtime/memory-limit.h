// Whether a process under a limit of the system gets the memory that it will need.
//
// Beyond `ulimit -v` the next request is refused, and V8 then ends the process. Beyond the limit of a cgroup, the
// kernel ends it. So what is needed is compared before it is taken.

#pragma once

#include "memory-room.h"

#include <string>

namespace addon {

// throws ERR_H2O_CONTEXT_MEMORY unless so many more bytes can be mapped, with something left for V8, and so many used
void require_memory(const std::string & what, double n_map, double n_use);

// throws it unless there is room for n bytes
void require_room(const std::string & what, double n, const memory_room & room);

} // namespace addon
