// Launches of a CUDA program, as cuda-runtime.cpp hands them on, on the interpreter. A fault ends the program with 1 and
// a line that begins with FAIL.

#pragma once

#include <cstdint>

namespace ptx {

// whose PTX is taken from here on, or that of the latest chip before it: 80, or 90, which it is at first
void set_chip(int chip);

void seed_order(uint32_t seed); // of all launches from here on: of blocks, and of warps between barriers. None may change a result
int  n_launches();               // so far
void print_costs();

} // namespace ptx
