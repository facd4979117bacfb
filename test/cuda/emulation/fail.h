// What the emulation cannot go on after: the kernels did something that a device would not forgive, or would do
// silently.

#pragma once

#include <cstdio>
#include <cstdlib>

// on a fiber: no destructors
#define EMU_CHECK(condition, what)                   \
    do {                                             \
        if (!(condition)) {                          \
            printf("FAIL emulation: %s\n", (what));  \
            fflush(stdout);                          \
            _Exit(1);                                \
        }                                            \
    } while (0)
