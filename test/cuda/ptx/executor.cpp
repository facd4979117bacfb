#include "executor.h"

#include "../../../bench/gpu/dry-run/executor.h"
#include "launch.h"
#include "module.h"

#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace ptx {

// of one kernel on the host
struct entry {
    const void * image;
    std::string  name;
};

// made where they are first asked for: kernels are registered before main, in any order
struct executor {
    std::map<const void *, entry>                                    kernels;
    std::map<std::pair<const void *, int>, std::unique_ptr<module>>  modules;
    std::map<std::string, cost>                                      costs;
    int chip       = 90;
    int n_launches = 0;
};

static executor & all() {
    static executor & res = *new executor;
    return res;
}

void set_chip(int chip) { all().chip = chip; }
int  n_launches()       { return all().n_launches; }

static const program & find(const entry & e) {
    std::unique_ptr<module> & m = all().modules[{ e.image, all().chip }];
    if (!m) {
        m.reset(new module(ptx_of_fatbin(e.image, all().chip)));
    }
    const program * p = m->find(e.name);
    if (!p) fault("no PTX of the kernel " + e.name + " for sm_" + std::to_string(all().chip));
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

void print_costs() {
    static const char * kinds[N_KINDS] = { "matrix", "arith", "special", "move", "global", "shared", "exchange", "barrier", "control" };
    printf("cost %-58s %8s", "kernel: instructions of warps by kind", "launches");
    for (const char * k : kinds) printf(" %10s", k);
    printf(" %10s %10s\n", "conflicts", "sectors");
    for (const auto & [name, c] : all().costs) {
        printf("cost %-58s %8llu", name.c_str(), (unsigned long long) c.n_launches);
        for (const uint64_t n : c.n) printf(" %10llu", (unsigned long long) n);
        const auto ratio = [](uint64_t a, uint64_t b) { return b ? (double) a/b : 1.0; };
        printf(" %9.2fx %9.2fx\n", ratio(c.shared_cycles, c.shared_ideal), ratio(c.sectors, c.sectors_ideal));
    }
}

} // namespace ptx

using namespace ptx;

extern "C" void executor_add_kernel(void * image, const void * host, const char * name) {
    all().kernels[host] = { image, name };
}

extern "C" void executor_launch(const void * host, bool is_possible, dim3 grid, dim3 block, size_t n_smem, void ** args) {
    try {
        const entry & e = all().kernels.at(host);
        if (!is_possible) fault("a launch that no device takes, of " + e.name);
        all().n_launches++;
        launch(find(e), { grid.x, grid.y, grid.z }, { block.x, block.y, block.z }, n_smem, args, all().costs[readable(e.name)]);
    } catch (const std::exception & f) {
        printf("FAIL device: %s\n", f.what());
        fflush(stdout);
        _Exit(1);
    }
}

extern "C" void executor_add_memory(void * begin, size_t size) { add_region(begin, size); }
extern "C" void executor_remove_memory(void * begin)           { remove_region(begin); }
