// Shared memory as a block finds it, and buffers that end where the program may not read.

#pragma once

#include <cstddef>

// A new block finds NaN in all shared memory. The shim makes __shared__ thread_local, so that all of it together is the
// program's thread-local segment; nothing else here may be thread_local.
void emu_fill_shared();

// dynamic shared memory under the names that the kernels give it, as large as any chip's
#define EMU_DYNAMIC_SIZE (228*1024)

// nobody has written past the size that a launch asked for
void emu_check_dynamic(const void * dynamic, size_t size);

// Device memory: the first byte past it, rounded up to 16, faults. Filled with NaN.
class emu_buffer {
public:
    explicit emu_buffer(size_t size);
    ~emu_buffer();

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
