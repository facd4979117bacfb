"""What results are dated with: GPU, driver, compiler and commit."""

import os
import re
import subprocess
from dataclasses import dataclass

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")


@dataclass(frozen=True)
class Machine:
    gpu: str
    driver: str
    nvcc: str
    commit: str

    def slug(self):
        return "-".join(re.findall(r"[a-z0-9.]+", self.gpu.lower()))

    def lines(self):
        return [f"- {self.gpu}, driver {self.driver}", f"- {self.nvcc}", f"- h2o-llama: {self.commit}"]


def this_machine():
    gpu, _, driver = first_line("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").partition(", ")
    nvcc = first_line("sh", "-c", "${CUDACXX:-nvcc} --version | grep release")
    return Machine(gpu or "unknown GPU", driver or "unknown", nvcc or "nvcc unknown", commit())


def commit():
    """Of the checkout, or else of the archive that the sources came in."""
    head = first_line("git", "-C", ROOT, "rev-parse", "--short=12", "HEAD")
    if head and os.path.exists(os.path.join(ROOT, ".git")):  # else of a checkout around it
        return f"commit {head}" + (" with changes" if first_line("git", "-C", ROOT, "status", "--porcelain") else "")
    return first_line("cat", os.path.join(ROOT, "vendor/llama.cpp/.pack")) or "commit unknown"


def first_line(*command):
    """Of what it prints; empty if it cannot."""
    try:
        out = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return ""
    return out.stdout.strip().split("\n")[0] if out.returncode == 0 else ""
