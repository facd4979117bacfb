// What tells one model file from another, whatever its weights were turned into for the processor or a device.

#pragma once

#include "llama.h"

#include <cstdint>
#include <string>

namespace addon {

// A hash of the size and of pieces all over the file, 16 MiB of them: all of a small model, and milliseconds of a large
// one. Every file of a split model counts. Throws a failure where a file cannot be read
uint64_t fingerprint_of(const llama_model * model, const std::string & path);

// the same of one more file that belongs to the model, an adapter's; goes on from `hash`
uint64_t fingerprint_of_file(const std::string & path, uint64_t hash);

} // namespace addon
