// How a CPU thread waits at ggml_barrier, called by ggml-cpu.c where ggml's own threads are used (no OpenMP): it spins
// for about as long as threads of an idle machine are apart, then sleeps. A thread that only spins takes the processor
// from the one that it waits for: on a machine with other load, prefills took up to 40 times as long.

#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// rounds of ggml_thread_cpu_relax before a thread sleeps
#define LIMIT_BARRIER_N_SPINS 2000

// Sleeps until *passed differs from n_passed or limit_barrier_wake is called; may return early.
void limit_barrier_sleep(void * passed, int n_passed);

// Wakes the threads that sleep on passed. The caller has changed *passed before.
void limit_barrier_wake(void * passed);

#ifdef __cplusplus
}
#endif
