#!/usr/bin/env python3
"""Prefill over prompt length on a GPU: H2O against stock llama.cpp, as tables, with a floor and the targets.

Models have the shapes of Qwen3 with random weights; what is measured does not depend on the weights. Every measurement is
a process of its own: a warm-up of 4096 tokens, then the repetitions (10 up to 16384 tokens, 5 beyond, 2 from 65536 on), of
which the fastest counts; the median stands beside it. Rows with a time are kept in results.jsonl and not measured again
with the same GPU, binary, model and arguments. The tables and their rows are in DATE-gpu-NAME.md and .jsonl as well.

  TFLOP/s   products that the method asks for, weights and attention, by time: two of a query head for each pair that
            sees each other (keys, values); `votes` has the keys again, `query` has those of its search
  floor     the longer of these operations at --peak-tflops, and of the bytes of weights and KV cache at --bandwidth: each
            pass reads the weights once, each chunk what it sees of the cache once; activations do not count

Ends with 1 if a binary was missing, a measurement failed, a call ran dense or attention was not fused. A target that was
missed is a result, and so is what --budget left out.
"""

import argparse
import sys

from comparison.contenders import CONTENDERS, default_contenders, profiled_contenders
from comparison.machine import this_machine
from comparison.measure import Bench
from comparison.report import Report
from comparison.results import Results
from comparison.shapes import MODELS, TYPE_BYTES, Peak
from comparison.tables import first_token_table, profile_table
from comparison.targets import target_table


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patched", required=True, help="build folder of the patched tree")
    parser.add_argument("--stock", required=True, help="build folder of the stock tree; without it H2O off stands in for it")
    parser.add_argument("--work", required=True, help="where models and results go")
    parser.add_argument("--copy", help="where results go, too, as they come")
    parser.add_argument("--models", type=names_of(MODELS, ","), default="qwen3-1.7b,qwen3-8b", help=", ".join(MODELS))
    parser.add_argument("--lengths", type=lengths, default="4096,16384,65536,131072")
    parser.add_argument("--profile", type=lengths, help="lengths; '' for none; default: 16384 and 65536 if they are in --lengths")
    parser.add_argument("--contenders", type=names_of(CONTENDERS, ";"), help="; between them, of: " + "; ".join(CONTENDERS))
    parser.add_argument("--type", default="f16", choices=TYPE_BYTES, help="of the weights")
    parser.add_argument("--reps", type=int, help="instead of as many as the length allows")
    parser.add_argument("--ngl", type=int, default=999)
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one measurement")
    parser.add_argument("--budget", type=float, help="seconds after which no measurement begins; the last may take --timeout")
    parser.add_argument("--peak-tflops", type=float, default=790, help="what large products reach; default: an H200, BF16")
    parser.add_argument("--bandwidth", type=float, default=4300, help="GB/s that large copies reach; default: an H200")
    args = parser.parse_args()
    if args.profile is None:
        args.profile = [n for n in (16384, 65536) if n in args.lengths]
    args.peak = Peak(flop=args.peak_tflops * 1e12, bytes=args.bandwidth * 1e9)
    return args


def names_of(known, separator):
    def parse_names(text):
        names = [name.strip() for name in text.split(separator)]
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"unknown: {name}")
        return names

    return parse_names


def lengths(text):
    return [int(n) for n in text.split(",") if n]


def main():
    args = parse()
    machine = this_machine()
    bench = Bench(args, machine, Results(args.work, args.copy), max(args.lengths + args.profile))
    has_stock = bench.program("stock-bench") is not None
    contenders = [CONTENDERS[name] for name in args.contenders] if args.contenders else default_contenders(has_stock)

    report = Report(machine, args.work, args.copy)
    report.line(f"- peak: {args.peak_tflops:g} TFLOP/s, {args.bandwidth:g} GB/s")
    rows = {model: first_token_table(report, bench, model, contenders, args.lengths) for model in args.models}
    if args.profile:
        profile_table(report, bench, args.models, profiled_contenders(has_stock), args.profile)
    target_table(report, rows)

    if bench.left_out:
        report.line(f"\n{bench.left_out} measurements were left out: the budget of {args.budget:g} s was used up.")
    if bench.problems:
        report.line("\n## Problems\n")
        for problem in bench.problems:
            report.line(f"- {problem}")
    return 1 if bench.problems else 0


if __name__ == "__main__":
    sys.exit(main())
