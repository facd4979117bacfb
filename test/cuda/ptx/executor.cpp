// Launches of a CUDA program, as cuda-runtime.cpp hands them on, on the interpreter. A fault ends the program with 1 and a
// line that begins with FAIL.

#include "../../../bench/gpu/dry-run/executor.h"
#include "module.h"
#include "warp.h"

#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>

namespace ptx {

// of one kernel on the host
struct entry {
    const void * image;
    std::string  name;
};

static std::map<const void *, entry>  kernels; // registered before main, by files that are linked behind this one
static std::map<const void *, module> modules; // by image
static std::map<std::string, cost>    costs;

static const program & find(const entry & e) {
    auto m = modules.find(e.image);
    if (m == modules.end()) m = modules.emplace(e.image, ptx_of_fatbin(e.image, dry_run_chip())).first;
    const program * p = m->second.find(e.name);
    if (!p) fault("no PTX of the kernel " + e.name + " for sm_" + std::to_string(dry_run_chip()));
    return *p;
}

// h2o_attn_mma<64, true>, without what it takes
static std::string readable(const std::string & name) {
    int    status;
    char * text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
    std::string res = text ? text : name;
    free(text);
    res = res.substr(0, res.rfind('('));
    return res.substr(res.compare(0, 5, "void ") == 0 ? 5 : 0);
}

} // namespace ptx

using namespace ptx;

extern "C" void executor_add_kernel(void * image, const void * host, const char * name) {
    kernels[host] = { image, name };
}

extern "C" void executor_launch(const void * host, bool is_possible, dim3 grid, dim3 block, size_t n_smem, void ** args) {
    try {
        const entry & e = kernels.at(host);
        if (!is_possible) fault("a launch that no device takes, of " + e.name);
        launch(find(e), { grid.x, grid.y, grid.z }, { block.x, block.y, block.z }, n_smem, args, costs[readable(e.name)]);
    } catch (const std::exception & f) {
        printf("FAIL device: %s\n", f.what());
        fflush(stdout);
        _Exit(1);
    }
}

extern "C" size_t executor_static_smem(const void * host) {
    return find(kernels.at(host)).n_shared;
}

extern "C" void executor_add_memory(void * begin, size_t size) { add_region(begin, size); }
extern "C" void executor_remove_memory(void * begin)           { remove_region(begin); }

extern "C" void executor_print_costs() {
    static const char * kinds[N_KINDS] = { "matrix", "fma", "arith", "special", "move", "global", "shared", "exchange", "barrier", "control" };
    printf("cost %-52s %3s", "instructions of warps, in a launch", "n");
    for (const char * k : kinds) printf(" %9s", k);
    printf(" %8s %9s %8s %9s\n", "MB", "to dense", "MFLOP", "conflicts");
    for (const auto & [name, c] : costs) {
        const double n = c.n_launches;
        printf("cost %-52s %3.0f", name.c_str(), n);
        for (const uint64_t k : c.n) printf(" %9.0f", k/n);
        const auto ratio = [](uint64_t a, uint64_t b) { return b ? (double) a/b : 1.0; };
        printf(" %8.2f %8.2fx %8.1f %8.2fx\n", 32e-6*c.sectors/n, ratio(c.sectors, c.sectors_ideal), 1e-6*(c.flop + 2*N_LANES*c.n[(int) kind::fma])/n,
                ratio(c.shared_cycles, c.shared_ideal));
    }
    costs.clear();
}
