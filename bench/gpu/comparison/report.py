"""The report of a run, DATE-gpu-NAME.md, and the rows that it was made of, DATE-gpu-NAME.jsonl: written as they come."""

import datetime
import json
import os

from .results import append


class Report:
    def __init__(self, machine, folder, copy):
        base = f"{datetime.date.today()}-gpu-{machine.slug()}"
        self.bases = [os.path.join(f, base) for f in (folder, copy) if f]
        for path in self.bases:
            for ending in (".md", ".jsonl"):
                open(path + ending, "w").close()
        self.line(f"# Prefill on a GPU, {datetime.date.today()}\n")
        for line in machine.lines():
            self.line(line)

    def line(self, text=""):
        print(text, flush=True)
        for path in self.bases:
            append(path + ".md", text)

    def row(self, *cells):
        self.line("| " + " | ".join(str(cell) for cell in cells) + " |")

    def head(self, *names):
        self.line()
        self.row(*names)
        self.row(*["---"] * len(names))

    def source(self, row):
        if row:
            for path in self.bases:
                append(path + ".jsonl", json.dumps(row))
