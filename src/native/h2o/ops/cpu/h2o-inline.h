// For functions whose arguments are to stay in registers.

#pragma once

#if defined(_MSC_VER)
#define H2O_INLINE __forceinline
#else
#define H2O_INLINE inline __attribute__((always_inline))
#endif
