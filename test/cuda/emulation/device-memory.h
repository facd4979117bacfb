// Shared memory as a block finds it, and buffers that end where the program may not read.

#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

// dynamic shared memory under the names that the kernels give it, as large as any chip's
#define EMU_DYNAMIC_SIZE (228*1024)

// All shared memory, while a kernel runs. The shim makes __shared__ thread_local, so that all of it together is the
// program's thread-local segment; what else lies there is as it was when the kernel has ended.
class emu_shared_memory {
public:
    emu_shared_memory();
    ~emu_shared_memory();

    emu_shared_memory(const emu_shared_memory &) = delete;
    emu_shared_memory & operator=(const emu_shared_memory &) = delete;

    // a new block finds NaN
    void clear() const;

    // nobody has written past the size that the launch asked for
    void check_dynamic(size_t size) const;

private:
    std::vector<char> others;
};

// Device memory: the first byte past it, rounded up to 16, faults. Filled with NaN.
class emu_buffer {
public:
    explicit emu_buffer(size_t size);
    ~emu_buffer();

    template <typename T>
    explicit emu_buffer(const std::vector<T> & x) : emu_buffer(x.size()*sizeof(T)) {
        memcpy(begin, x.data(), x.size()*sizeof(T));
    }

    emu_buffer(const emu_buffer &) = delete;
    emu_buffer & operator=(const emu_buffer &) = delete;

    char * data() const { return begin; }

    template <typename T>
    T * as() const { return (T *) begin; }

private:
    char * mapping;
    char * begin;
    size_t n_mapped;
};

// a fault ends the program as any other failure does
void emu_report_faults();
