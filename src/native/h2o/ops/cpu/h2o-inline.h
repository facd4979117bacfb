// What the compiler is to make one piece of with its caller, whatever its size, or to keep apart, and whether it takes assembly.

#pragma once

#if defined(_MSC_VER)
#define H2O_INLINE   __forceinline
#define H2O_NOINLINE __declspec(noinline)
#else
#define H2O_INLINE   inline __attribute__((always_inline))
#define H2O_NOINLINE __attribute__((noinline))
#endif

// H2O_NO_ASM: a test has the intrinsics of a processor that is not there, and no instructions
#if !defined(_MSC_VER) && !defined(H2O_NO_ASM)
#define H2O_HAS_ASM
#endif
