// The CUDA launchers and kernels, run from the PTX that nvcc makes of them (../ptx), against plain loops.
//
//     cuda-cases KERNELS N SEED CHIP       KERNELS: all, mma (tensor cores, head size 64), select or query; CHIP: 80, 90
//
// Prints a line "FAIL ..." per case that is wrong, then "covered NAME CASES", "worst NAME NMSE" and "cost KERNEL ...";
// ends with 1 if any is wrong. The same arguments give the same cases and the same order of blocks and warps.

#include "cases.h"
#include "device.h"
#include "executor.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char ** argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: %s all|mma|select|query N SEED 80|90\n", argv[0]);
        return 2;
    }
    ptx::set_chip(atoi(argv[4]));
    set_device(860, 16, 99*1024);

    const char * kernels = argv[1];
    const int    n_cases = atoi(argv[2]);

    const bool only_mma    = strcmp(kernels, "mma")    == 0;
    const bool only_select = strcmp(kernels, "select") == 0;
    const bool only_query  = strcmp(kernels, "query")  == 0;

    case_random  rnd(atoi(argv[3]));
    test_report report;

    int n_attn   = 0;
    int n_select = 0;
    int n_query  = 0;
    int n_wrong  = only_mma || only_select || only_query ? 0 : run_support_cases();

    // selection is a quarter as often: one kernel, without head sizes; sets by query are dear
    for (int i = 0; i < n_cases; ++i) {
        if (only_query || (!only_mma && !only_select && i % 5 == 2)) {
            n_wrong += !run_query_case(n_query, rnd, report);
            n_query++;
        } else if (only_select || (!only_mma && i % 5 == 4)) {
            n_wrong += !run_select_case(n_select, rnd, report);
            n_select++;
        } else {
            n_wrong += !run_attn_case(n_attn, only_mma, rnd, report);
            n_attn++;
        }
    }

    for (const auto & [name, n] : report.covered) {
        printf("covered %s %d\n", name.c_str(), n);
    }
    for (const auto & [name, nmse] : report.worst) {
        printf("worst %s %.1e\n", name.c_str(), nmse);
    }
    ptx::print_costs();
    printf("%d cases of attention, %d of selection, %d of sets by query, %d wrong\n", n_attn, n_select, n_query, n_wrong);

    return n_wrong == 0 ? 0 : 1;
}
