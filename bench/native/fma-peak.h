// The machine's F32 rate: what all vector units give together when nothing but fused multiply-adds on registers runs.
// Compiled for this machine (bench.cmake), so that the widest vectors are used.

#pragma once

// floating-point operations per second of n_threads threads at once, over about 50 ms
double fma_peak(int n_threads);
