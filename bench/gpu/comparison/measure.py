"""One measurement: a process of stock-bench or h2o-bench, unless its result is there already."""

import array
import datetime
import hashlib
import json
import os
import random
import statistics
import subprocess
import sys
import time

from .shapes import MODELS

WARMUP = 4096


class Bench:
    def __init__(self, args, machine, results, n_tokens):
        self.args = args
        self.machine = machine
        self.results = results
        self.n_tokens = n_tokens  # of the longest prompt
        self.end = time.monotonic() + args.budget if args.budget is not None else None
        self.problems = []
        self.left_out = 0  # for lack of time
        self.hashes = {}
        self.tokens = {}
        self.unmade = set()

    def first_token(self, model, contender, n):
        """A row with the time to the first token; an empty one if it was not measured. One with a flaw does not count."""
        reps = self.args.reps or (10 if n <= 16384 else 5 if n < 65536 else 2)
        return self.measure(model, contender, n, ["-r", str(reps)], reps)

    def profile(self, model, contender, n):
        """A row with where the time goes."""
        return self.measure(model, contender, n, ["-r", "0", "--profile"], 0)

    def measure(self, model, contender, n, flags, reps):
        name = f"{model} {self.args.type}, {contender.name}, {n} tokens{', profile' if reps == 0 else ''}"
        program = self.program(contender.program)
        if not program:
            return {}
        model_file = os.path.join(self.args.work, f"{model}-{self.args.type}.gguf")
        flags = ["-n", str(n), "-c", str(n), "-ngl", str(self.args.ngl), "-w", str(WARMUP), *contender.flags(n), *flags]
        key = " ".join([self.machine.slug(), contender.program, self.hashes[program], os.path.basename(model_file), *flags])

        row = self.results.rows.get(key)
        if row is None:
            if self.end is not None and time.monotonic() > self.end:
                self.left_out += 1
                return {}
            if not self.make_model(model, model_file):
                return {}
            say(f"{name} ...")
            row = run([program, model_file, self.tokens_file(model), *flags], self.args.timeout)
            row = {"key": key, "name": name, "date": datetime.datetime.now().isoformat(timespec="seconds"), **row}
            say(row.get("error") or f"    {row['ms']:.0f} ms")
            self.results.add(row)
        flaw = flaw_of(row, contender, n, reps)
        if flaw:
            self.problem(f"{name}: {row.get('error', flaw)}")
            return {**row, "flaw": flaw}
        return row

    def problem(self, text):
        if text not in self.problems:
            self.problems.append(text)

    def program(self, name):
        path = os.path.join(self.args.stock if name == "stock-bench" else self.args.patched, "bin", name)
        if not os.path.exists(path):
            self.problem(f"{path} is not there")
            return None
        if path not in self.hashes:
            with open(path, "rb") as file:
                self.hashes[path] = hashlib.sha256(file.read()).hexdigest()[:12]
        return path

    def make_model(self, model, path):
        """False if that is not possible."""
        if os.path.exists(path):
            return True
        program = self.program("random-model")
        if not program or path in self.unmade:
            return False
        say(f"making {path} ...")
        if subprocess.run([program, path, self.args.type, *MODELS[model].arguments()]).returncode != 0:
            self.problem(f"{path} could not be made")
            self.unmade.add(path)
            return False
        return True

    def tokens_file(self, model):
        if model not in self.tokens:
            self.tokens[model] = os.path.join(self.args.work, f"{model}.tokens")
            write_tokens(self.tokens[model], self.n_tokens, MODELS[model].vocab)
        return self.tokens[model]


def flaw_of(row, contender, n, reps):
    if "error" in row:
        return "failed"
    if contender.policy:
        info = row["out"]["h2o"]
        # the warm-up counts, too
        if info["sparseCalls"] < contender.sparse_calls(n, WARMUP) + reps * contender.sparse_calls(n):
            return "ran dense"
        if not info["fused"]:
            return "not fused"
    return None


def write_tokens(path, n, vocab):
    """A prompt for the bench programs: always the same."""
    draw = random.Random(1)
    with open(path, "wb") as file:
        array.array("i", (draw.randrange(vocab) for _ in range(n))).tofile(file)


def run(command, timeout=None, variables=None):
    """What a bench program printed and its time: the fastest repetition, or the one without cuts of a profile."""
    env = {**os.environ, "GGML_NO_BACKTRACE": "1", **(variables or {})}  # a debugger would wait for the timeout
    try:
        out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, env=env)
    except subprocess.TimeoutExpired as e:
        return {"error": f"more than {timeout} s", **log_of(e.stderr)}
    log = {"returncode": out.returncode, **log_of(out.stderr)}
    if out.returncode != 0:
        return {"error": f"status {out.returncode}: {(log['stderr'].strip().splitlines() or ['no message'])[-1]}", **log}
    try:
        result = json.loads(out.stdout.splitlines()[-1])
        times = result["ttftMs"] or [result["profile"]["plainMs"]]
    except (ValueError, LookupError, TypeError):
        return {"error": "status 0, but no result was printed", **log}
    return {"ms": min(times), "median": statistics.median(times), "out": result}


def log_of(stderr):
    return {"stderr": (stderr or b"").decode(errors="replace")[-3000:]}


def say(text):
    print(text, file=sys.stderr, flush=True)
