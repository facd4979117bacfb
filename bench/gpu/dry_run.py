"""Prefills on a CUDA runtime that has no device behind it: does everything stay on the device, within its limits, and of what
launches does a prefill consist? Needs the build of run.sh and no GPU. What is computed means nothing.

  dry_run.py --bin FOLDER --runtime LIBRARY --model FILE --odd-model FILE

The odd model has heads of a size that the kernels do not have.
"""

import argparse
import collections
import os
import re
import sys
import tempfile

from comparison.contenders import QUERY, VOTES, S
from comparison.measure import run, write_tokens

VOCAB, HIDDEN = 4096, 1024  # of the models
CALLS = [4096, 3072, 1124]  # tokens; the last one a chunk and a tail, with a memory of the calls before it
N = sum(CALLS)
REPETITIONS = 2

DENSE = ["-ub", "4096", "--h2o-local", "0", "--h2o-heavy", "0"]
CASES = {"dense, f16": DENSE, "dense, two devices": DENSE}
for policy in (QUERY, VOTES):
    h2o = ["-ub", str(S), *policy.flags()]
    CASES |= {
        f"{policy.name}, f16": h2o,
        f"{policy.name}, f16, -fa off": [*h2o, "-fa", "off"],
        f"{policy.name}, f32, -fa off": [*h2o, "-fa", "off", "-ctk", "f32", "-ctv", "f32"],
        f"{policy.name}, bf16": [*h2o, "-ctk", "bf16", "-ctv", "bf16"],
        f"{policy.name}, q8_0": [*h2o, "-ctk", "q8_0", "-ctv", "q8_0"],
        f"{policy.name}, q4_0": [*h2o, "-ctk", "q4_0", "-ctv", "q4_0"],
        f"{policy.name}, composed": h2o,
        f"{policy.name}, composed, -fa off": [*h2o, "-fa", "off"],
        f"{policy.name}, two devices": h2o,
    }
CASES["votes, two-pass"] = ["-ub", str(S), *VOTES.flags(), "--h2o-schedule", "two-pass"]


def main():
    parser = argparse.ArgumentParser()
    for name in ("--bin", "--runtime", "--model", "--odd-model"):
        parser.add_argument(name, required=True)
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        tokens = os.path.join(folder, "tokens")
        write_tokens(tokens, N, VOCAB)

        problems = [f"{name}: {problem}" for name, flags in CASES.items() for problem in check(args, folder, tokens, name, flags)]

    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


def check(args, folder, tokens, name, flags):
    """Prints what a prefill consists of; gives what is wrong with it."""
    log = os.path.join(folder, "log")
    open(log, "w").close()
    model = args.odd_model if "composed" in name else args.model
    command = [os.path.join(args.bin, "h2o-bench"), model, tokens, "-n", str(N), "-c", str(N), "-b", "4096", "-fa", "on"]
    command += ["-t", "1", "-ngl", "99", "-w", "0", "-r", str(REPETITIONS), "--calls", ",".join(map(str, CALLS)), *flags]
    n_devices = 2 if "two devices" in name else 1
    preloaded = {"LD_PRELOAD": os.path.abspath(args.runtime), "DRY_RUN_LOG": log, "DRY_RUN_DEVICES": str(n_devices)}
    row = run(command, variables=preloaded)
    if "error" in row:
        return [row["error"]]

    with open(log) as file:
        events = [line.rstrip("\n").split("\t") for line in file]

    # the logits are what ends a prefill
    logits = [i for i, event in enumerate(events) if event[:2] == ["copy", "to-host"]]
    first = events[: logits[0] if logits else None]

    launches = collections.Counter(kernel(event[1]) for event in first if event[0] == "launch")
    to_host = [int(events[i][2]) for i in logits]
    to_peer = sum(int(event[2]) for event in first if event[:2] == ["copy", "to-peer"])

    print(f"== {name}: {sum(launches.values())} launches, {sum(to_host[:1])} bytes to the host, {to_peer} to another device")
    print("   " + ", ".join(f"{n} {kernel_name}" for kernel_name, n in launches.most_common()))

    problems = [f"no device takes {' '.join(event[1:])}" for event in events if event[0] == "limit"]
    if not launches:
        problems.append("nothing was launched")
    if to_host != [4 * VOCAB] * REPETITIONS:
        problems.append(f"{to_host} bytes went to the host, not the {4 * VOCAB} of the last token's logits in each prefill")
    if to_peer != (n_devices - 1) * 4 * N * HIDDEN:
        problems.append(f"{to_peer} bytes went to another device: more than what one layer hands to the next")
    if len({event[5] for event in first if event[0] == "launch"}) != n_devices:
        problems.append("not every device has work")
    if any(event[0] == "malloc" for event in events[len(first) :]):
        problems.append("the first prefill was not the last to ask for memory")
    if "dense" not in name:
        h2o = row["out"]["h2o"]
        if h2o["fused"] == ("composed" in name) or h2o["sparseCalls"] != REPETITIONS * len(CALLS):
            problems.append(f"not sparse in every call, or not fused where it should be: {h2o}")
    return problems


def kernel(name):
    """The kernel's name without its arguments."""
    return re.sub(r"^void ", "", name).split("(")[0].split("<")[0].strip()


if __name__ == "__main__":
    sys.exit(main())
