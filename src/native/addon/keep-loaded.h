// Keeps this library in memory until the process ends.
//
// Node unloads an addon with the last worker thread that uses it, while OpenMP and log callbacks may still point into it.

#pragma once

namespace addon {

void keep_library_loaded();

} // namespace addon
