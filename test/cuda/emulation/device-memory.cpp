#include "device-memory.h"

#include "fail.h"

#include "common.cuh"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

alignas(128) thread_local uint4    h2o_smem       [EMU_DYNAMIC_SIZE/sizeof(uint4)];
alignas(128) thread_local uint32_t h2o_select_smem[EMU_DYNAMIC_SIZE/sizeof(uint32_t)];

struct segment {
    char * data = nullptr;
    size_t size = 0;
};

// the program itself is the first object listed
static int find_thread_locals(dl_phdr_info * info, size_t, void * arg) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        if (info->dlpi_phdr[i].p_type == PT_TLS) {
            *(segment *) arg = { (char *) info->dlpi_tls_data, info->dlpi_phdr[i].p_memsz };
        }
    }
    return 1;
}

static const segment & shared_segment() {
    static const segment shared = [] {
        segment found;
        dl_iterate_phdr(find_thread_locals, &found);
        EMU_CHECK(found.data <= (char *) h2o_smem && found.data + found.size >= (char *) h2o_smem + sizeof(h2o_smem),
                "shared memory is not where it should be");
        return found;
    }();
    return shared;
}

emu_shared_memory::emu_shared_memory() : others(shared_segment().data, shared_segment().data + shared_segment().size) {}

emu_shared_memory::~emu_shared_memory() {
    memcpy(shared_segment().data, others.data(), others.size());
}

void emu_shared_memory::clear() const {
    memset(shared_segment().data, 0xff, shared_segment().size);
}

void emu_shared_memory::check_dynamic(size_t size) const {
    for (const void * dynamic : { (const void *) h2o_smem, (const void *) h2o_select_smem }) {
        const char * begin = (const char *) dynamic + size;
        const char * end   = (const char *) dynamic + EMU_DYNAMIC_SIZE;

        EMU_CHECK(std::all_of(begin, end, [](char c) { return c == (char) 0xff; }),
                "a kernel wrote past the shared memory that it asked for");
    }
}

emu_buffer::emu_buffer(size_t size) {
    const size_t page   = getpagesize();
    const size_t padded = (size + 15)/16*16;

    n_mapped = (padded + page - 1)/page*page + page;
    mapping  = (char *) mmap(nullptr, n_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EMU_CHECK(mapping != MAP_FAILED, "no memory for a buffer");

    char * end = mapping + n_mapped - page;
    mprotect(end, page, PROT_NONE);
    begin = end - padded;
    memset(mapping, 0xff, end - mapping);
}

emu_buffer::~emu_buffer() {
    munmap(mapping, n_mapped);
}

static void on_fault(int signal) {
    static const char past[]      = "FAIL emulation: a kernel read or wrote past a buffer\n";
    static const char unaligned[] = "FAIL emulation: an access that is not aligned as its type is\n";

    const bool is_past = signal == SIGSEGV;
    if (write(STDOUT_FILENO, is_past ? past : unaligned, (is_past ? sizeof(past) : sizeof(unaligned)) - 1) < 0) {
        _exit(2);
    }
    _exit(1);
}

void emu_report_faults() {
    signal(SIGSEGV, on_fault);
    signal(SIGILL,  on_fault); // of a trap on x86
    signal(SIGTRAP, on_fault); // and on Arm
}
