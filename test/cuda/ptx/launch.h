// A kernel's launch, run to its end.

#pragma once

#include "warp.h"

namespace ptx {

// args: a pointer to each of the kernel's parameters. Throws device_fault.
void launch(const program & p, dim grid, dim size, size_t n_dynamic, void ** args, cost & costs);

// of the kernel's warps, once all of them that live have come to a barrier; -> whether one opened
bool open_barriers(block & b);

} // namespace ptx
