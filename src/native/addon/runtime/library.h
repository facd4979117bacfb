// The file that this code was loaded from.

#pragma once

#include <string>

namespace addon {

// Keeps it in memory until the process ends: Node unloads an addon with the last worker thread that uses it, while
// threads and log callbacks may still be in it.
void keep_library_loaded();

// The folder that it lies in, UTF-8; empty if the system does not say.
std::string library_folder();

} // namespace addon
