"""Rows of measurements that outlive the process: one JSON line each, appended as they come."""

import json
import os


class Results:
    """A row is found again by its key; one without a time is not, so that what failed is tried again."""

    def __init__(self, folder, copy):
        self.paths = [os.path.join(f, "results.jsonl") for f in (folder, copy) if f]
        self.rows = {}
        for path in self.paths:
            end_line(path)
        for row in read_rows(self.paths[0]):
            if "ms" in row:
                self.rows[row["key"]] = row

    def add(self, row):
        self.rows[row["key"]] = row
        for path in self.paths:
            append(path, json.dumps(row))


def read_rows(path):
    if not os.path.exists(path):
        return
    with open(path) as file:
        for line in file:
            try:
                row = json.loads(line)
            except ValueError:
                continue  # a line that was cut off
            if isinstance(row, dict) and "key" in row:
                yield row


def end_line(path):
    """What is appended behind a line that was cut off must not become part of it."""
    if os.path.exists(path):
        with open(path, "rb") as file:
            data = file.read()
        if data and not data.endswith(b"\n"):
            append(path, "")


def append(path, line):
    with open(path, "a") as file:
        file.write(line + "\n")
