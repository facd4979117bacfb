// A tiny model with the op on the CPU and in emulation, everything else being the same: what device-check asks of a
// GPU.

#pragma once

// prints a line per case; -> how many fail
int run_model_cases();
