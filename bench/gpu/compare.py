#!/usr/bin/env python3
"""Prefill over prompt length on a GPU: H2O against stock llama.cpp, as one table.

Models have the shapes of Qwen3 with random weights; what is measured does not depend on the weights. Every measurement is
a process of its own: a warm-up of 4096 tokens, then the repetitions, of which the fastest counts. Results are kept, one
JSON line each, and not measured again: delete the file to start over.

  TFLOP/s   products that were computed, weights and attention, by time; H2O's attention counts three products (queries
            with keys, values, and queries with keys again for the votes), stock's two, over the lower triangle only
  floor     what the weights alone would take, at the rate of a prompt of 1024 tokens: no attention can be faster
"""

import argparse
import array
import json
import os
import random
import subprocess
import sys

S, LOCAL, HEAVY = 1024, 256, 256

MODELS = {
    "qwen3-1.7b": dict(layers=28, hidden=2048, heads=16, kv_heads=8, d=128, ffn=6144, vocab=151936, tied=1),
    "qwen3-8b": dict(layers=36, hidden=4096, heads=32, kv_heads=8, d=128, ffn=12288, vocab=151936, tied=0),
    "tiny": dict(layers=2, hidden=256, heads=4, kv_heads=2, d=64, ffn=512, vocab=1024, tied=0),
}

# name: (program, arguments)
CONTENDERS = {
    "stock -fa on -ub 1024": ("stock-bench", ["-fa", "on", "-b", "4096", "-ub", "1024"]),
    "stock -fa on -ub 4096": ("stock-bench", ["-fa", "on", "-b", "4096", "-ub", "4096"]),
    "stock -fa off -ub 1024": ("stock-bench", ["-fa", "off", "-b", "4096", "-ub", "1024"]),
    "dense (H2O off)": ("h2o-bench", ["-fa", "on", "-b", "4096", "-ub", "4096"]),
    "h2o -b 4096": ("h2o-bench", ["-fa", "on", "-b", "4096", "-ub", str(S), "--h2o-local", str(LOCAL), "--h2o-heavy", str(HEAVY)]),
    "h2o -b 16384": ("h2o-bench", ["-fa", "on", "-b", "16384", "-ub", str(S), "--h2o-local", str(LOCAL), "--h2o-heavy", str(HEAVY)]),
    "h2o -b 4096 -ctk q8_0": ("h2o-bench", ["-fa", "on", "-b", "4096", "-ub", str(S), "-ctk", "q8_0", "-ctv", "q8_0",
                                            "--h2o-local", str(LOCAL), "--h2o-heavy", str(HEAVY)]),
}
DEFAULT = [name for name in CONTENDERS if "q8_0" not in name]
FLOOR = ("floor", 1024)


def weights_flop(m, n):
    q, kv = m["heads"] * m["d"], m["kv_heads"] * m["d"]
    layer = 2 * m["hidden"] * (2 * q + 2 * kv + 3 * m["ffn"])
    return n * m["layers"] * layer + 2 * m["hidden"] * m["vocab"]


def attention_flop(m, n, is_h2o):
    per_pair = 2 * m["d"] * m["heads"] * m["layers"]
    if not is_h2o:
        return 2 * per_pair * n * (n + 1) // 2
    pairs = 0
    for begin in range(0, n, S):
        chunk = min(S, n - begin)
        pairs += chunk * (chunk + 1) // 2 + chunk * min(begin, LOCAL + HEAVY)
    return 3 * per_pair * pairs


def make_model(args, name):
    path = os.path.join(args.work, f"{name}-{args.type}.gguf")
    if not os.path.exists(path):
        m = MODELS[name]
        print(f"making {path} ...", file=sys.stderr)
        program = os.path.join(args.patched, "bin/random-model")
        shape = [m[key] for key in ("layers", "hidden", "heads", "kv_heads", "d", "ffn", "vocab", "tied")]
        subprocess.run([program, path, args.type, *map(str, shape)], check=True)
    return path


def make_tokens(args, name):
    path = os.path.join(args.work, f"{name}.tokens")
    draw = random.Random(1)
    with open(path, "wb") as file:
        array.array("i", (draw.randrange(MODELS[name]["vocab"]) for _ in range(max(args.lengths)))).tofile(file)
    return path


class Results:
    def __init__(self, path):
        self.path = path
        self.rows = {}
        if os.path.exists(path):
            with open(path) as file:
                for line in file:
                    row = json.loads(line)
                    self.rows[row["key"]] = row

    def add(self, key, row):
        self.rows[key] = {"key": key, **row}
        with open(self.path, "a") as file:
            file.write(json.dumps(self.rows[key]) + "\n")


def measure(args, results, model, contender, n):
    key = f"{model} {args.type} | {contender} | {n}"
    if key in results.rows:
        return results.rows[key]
    program, flags = CONTENDERS[contender]
    folder = args.stock if program == "stock-bench" else args.patched
    command = [os.path.join(folder, "bin", program), make_model(args, model), os.path.join(args.work, f"{model}.tokens"),
               "-n", str(n), "-c", str(n), "-ngl", str(args.ngl), "-r", str(args.reps), "-w", "4096", *flags]
    if not os.path.exists(command[0]):
        return None
    print(f"{key} ...", end=" ", file=sys.stderr, flush=True)
    try:
        out = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout)
        lines = out.stdout.strip().splitlines()
        row = {"ms": min(json.loads(lines[-1])["ttftMs"]), "all": json.loads(lines[-1])} if out.returncode == 0 else \
              {"error": (out.stderr.strip().splitlines() or ["?"])[-1]}
    except subprocess.TimeoutExpired:
        row = {"error": f"more than {args.timeout} s"}
    print(row.get("error") or f"{row['ms']:.0f} ms", file=sys.stderr)
    results.add(key, row)
    return row


def table(args, results, model):
    m = MODELS[model]
    print(f"\n{model}, {args.type} weights, S={S}, L={LOCAL}, H={HEAVY}: time to first token\n")
    print("| tokens | contender | ms | tokens/s | TFLOP/s | to the best of stock | to the floor |")
    print("|---|---|---|---|---|---|---|")

    short = [measure(args, results, model, name, FLOOR[1]) for name in args.contenders if not name.startswith("h2o")]
    short = [row["ms"] for row in short if row and "ms" in row]

    for n in args.lengths:
        rows = {name: measure(args, results, model, name, n) for name in args.contenders}
        rows = {name: row for name, row in rows.items() if row}
        # without the stock build, our build with H2O off stands in for it
        reference = [row["ms"] for name, row in rows.items() if name.startswith("stock") and "ms" in row] or \
                    [row["ms"] for name, row in rows.items() if name.startswith("dense") and "ms" in row]
        floor = min(short) * n / FLOOR[1] if short else None
        for name, row in rows.items():
            if "ms" not in row:
                print(f"| {n} | {name} | {row['error']} | | | | |")
                continue
            is_h2o = name.startswith("h2o")
            flop = weights_flop(m, n) + attention_flop(m, n, is_h2o)
            sparse = "" if not is_h2o or row["all"]["h2o"]["sparseCalls"] > 0 else " (ran dense!)"
            best = f"{min(reference) / row['ms']:.2f}x" if reference else ""
            over = f"{row['ms'] / floor:.2f}x" if floor else ""
            print(f"| {n} | {name}{sparse} | {row['ms']:.0f} | {1000 * n / row['ms']:.0f} | {flop / row['ms'] / 1e9:.0f} "
                  f"| {best} | {over} |")
        if floor:
            print(f"| {n} | floor: weights alone | {floor:.0f} | {1000 * n / floor:.0f} | {weights_flop(m, n) / floor / 1e9:.0f} | | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patched", required=True, help="build folder of the patched tree")
    parser.add_argument("--stock", required=True, help="build folder of the stock tree; may be missing")
    parser.add_argument("--work", required=True, help="where models and results go")
    parser.add_argument("--models", default="qwen3-1.7b,qwen3-8b", help=", ".join(MODELS))
    parser.add_argument("--lengths", default="4096,16384,65536,131072")
    parser.add_argument("--contenders", help="; between them, of: " + "; ".join(CONTENDERS))
    parser.add_argument("--type", default="f16", help="of the weights: f16, bf16, q8_0")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--ngl", type=int, default=999)
    parser.add_argument("--timeout", type=int, default=300, help="seconds for one measurement")
    args = parser.parse_args()

    args.lengths = [int(n) for n in args.lengths.split(",")]
    args.contenders = [name.strip() for name in args.contenders.split(";")] if args.contenders else DEFAULT
    for name in args.contenders:
        if name not in CONTENDERS:
            parser.error(f"unknown contender: {name}")

    results = Results(os.path.join(args.work, "results.jsonl"))
    for model in args.models.split(","):
        if model not in MODELS:
            parser.error(f"unknown model: {model}")
        make_tokens(args, model)
        table(args, results, model)


if __name__ == "__main__":
    main()
