// What the system says about this process. A value below 0: it does not say.

#pragma once

#if !defined(_WIN32)
#include <sys/resource.h>
#endif

#include <cstdio>

// user and system time of all threads
inline double process_cpu_ms() {
#if defined(_WIN32)
    return -1;
#else
    rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        return -1;
    }
    const auto ms = [](const timeval & t) { return t.tv_sec * 1e3 + t.tv_usec / 1e3; };
    return ms(usage.ru_utime) + ms(usage.ru_stime);
#endif
}

// Linux: VmHWM and not ru_maxrss, which starts with what the parent held when it forked
inline double process_peak_rss_bytes() {
#if defined(__linux__)
    FILE * file = fopen("/proc/self/status", "r");
    if (!file) {
        return -1;
    }
    double kib = -1;
    char line[256];
    while (kib < 0 && fgets(line, sizeof(line), file)) {
        sscanf(line, "VmHWM: %lf", &kib);
    }
    fclose(file);
    return kib < 0 ? -1 : kib * 1024;
#elif defined(_WIN32)
    return -1;
#else
    rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        return -1;
    }
#if defined(__APPLE__)
    return usage.ru_maxrss;
#else
    return usage.ru_maxrss * 1024.0;
#endif
#endif
}
