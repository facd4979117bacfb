"""
Trains the recall model. Data, order and start depend on the seed alone; with --tokens the schedule does too, with
--minutes it follows the clock. See README.md.
"""

import argparse
import json
import time
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch

import checkpoint
import corpus
import export
import gguf_file
import progress_log
import schedule
from batches import Batch, BatchMaker
from config import PRESETS
from lanes import Lanes
from mix import FIRST, LONG, LONG_FROM, MAIN
from network import Network
from optimizer import make_optimizer
from tokenizer import Tokenizer


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="small", choices=PRESETS)
    budget = parser.add_mutually_exclusive_group(required=True)
    budget.add_argument("--minutes", type=float, help="of training, from start to end, resumptions included")
    budget.add_argument("--tokens", type=float, help="to train on")
    parser.add_argument(
        "--out", type=Path, default=Path("models/recall"), help="for checkpoint, log and model"
    )
    parser.add_argument("--pause", type=float, default=0, help="save and leave after so many minutes")
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out")
    start.add_argument("--start", type=Path, metavar="GGUF", help="begin with the weights of a model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch-tokens", type=int, default=2048, help="per step")
    parser.add_argument("--micro-tokens", type=int, default=0, help="at once; 0: the whole batch")
    parser.add_argument("--rate", type=float, default=6e-3)
    parser.add_argument("--warmup", type=int, default=100, help="steps until the rate is reached")
    parser.add_argument("--decay", type=float, default=0.01)
    parser.add_argument("--optimizer", default="muon", choices=["adamw", "muon"])
    parser.add_argument("--context", type=int, default=8192, help="longest sequence")
    parser.add_argument("--stages", type=schedule.stages, default=schedule.STAGES, help="as in schedule.py")
    parser.add_argument("--first", type=float, default=0.15, help="progress until which the mix is FIRST")
    parser.add_argument("--threads", type=int, default=0, help="0: torch's choice")
    parser.add_argument("--lanes", type=int, default=1, help="parts of a batch at once, a CPU thread each")
    parser.add_argument(
        "--workers", type=int, default=0, help="processes that make batches; 0: this one does"
    )
    parser.add_argument("--log-every", type=int, default=50, help="steps")
    parser.add_argument("--save-every", type=float, default=5, help="minutes")
    return parser.parse_args()


class Run:
    def __init__(self, args):
        self.args = args
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        args.out.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(args.seed)
        if args.threads:
            torch.set_num_threads(args.threads)
        # attention weights underflow, and denormal numbers are many times slower on CPUs
        torch.set_flush_denormal(True)
        torch.backends.cuda.matmul.allow_tf32 = True
        self.tokenizer = Tokenizer.load()
        english, self.english = corpus.load(args.out, self.tokenizer)
        self.maker = BatchMaker(self.tokenizer, english, args.context, args.seed)
        self.config = PRESETS[args.preset]
        self.network = Network(self.config).to(self.device)
        self.lanes = Lanes(self.network, args.lanes)
        self.optimizer = make_optimizer(self.network, args.optimizer, args.decay)
        self.step = self.tokens = 0
        self.seconds = 0.0  # of training before this start
        self.log = args.out / "log.jsonl"
        self.checkpoint = args.out / "checkpoint.pt"
        if args.resume:
            self.resume()
        else:
            self.log.write_text("")
        if args.start:
            tensors = gguf_file.read(args.start)
            names = self.network.state_dict()
            self.network.load_state_dict(
                {name: torch.from_numpy(tensors[export.tensor_name(name)]) for name in names}
            )
        about = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()}
        about.update(
            model=self.config.as_dict(),
            parameters=self.config.parameters(),
            first_mix=FIRST._asdict(),
            main_mix=MAIN._asdict(),
            long_mix=LONG._asdict(),
        )
        about.update(english=self.english, torch=torch.__version__, device=self.device, from_step=self.step)
        progress_log.write(self.log, about)
        self.started = time.monotonic()

    def resume(self) -> None:
        state = checkpoint.load(self.checkpoint, self.device)
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.tokens, self.seconds = state["step"], state["tokens"], state["seconds"]

    def save(self) -> None:
        checkpoint.save(
            self.checkpoint,
            self.network,
            self.optimizer,
            step=self.step,
            tokens=self.tokens,
            seconds=self.elapsed(),
            config=self.config.as_dict(),
        )

    def elapsed(self) -> float:
        return self.seconds + time.monotonic() - self.started

    def progress(self, tokens: int) -> float:
        if self.args.tokens:
            return tokens / self.args.tokens
        return self.elapsed() / (60 * self.args.minutes)

    def orders(self):
        """Endless (step, length, rows, mix), each for the progress that comes with the tokens ordered before."""
        step, tokens = self.step, self.tokens
        while True:
            progress = self.progress(tokens)
            longest = min(schedule.longest(self.args.stages, progress), self.args.context)
            length = schedule.sequence_length(self.args.seed, step, longest)
            rows = max(self.args.lanes, self.args.batch_tokens // length)
            mix = FIRST if progress < self.args.first else LONG if longest >= LONG_FROM else MAIN
            yield step, length, rows, mix
            step += 1
            tokens += rows * length

    def batches(self):
        if not self.args.workers:
            for order in self.orders():
                yield self.maker.make(*order)
        with ProcessPoolExecutor(self.args.workers, initializer=set_maker, initargs=(self.maker,)) as pool:
            waiting = deque()
            for order in self.orders():
                waiting.append(pool.submit(make, *order))
                if len(waiting) > 2 * self.args.workers:
                    yield waiting.popleft().result()

    def train(self) -> None:
        means = progress_log.Means()
        saved = time.monotonic()
        for batch in self.batches():
            progress = self.progress(self.tokens)
            if progress >= 1:
                break
            if self.args.pause and time.monotonic() - self.started > 60 * self.args.pause:
                return self.save()
            rate = schedule.rate(progress, self.step, self.args.rate, self.args.warmup)
            self.train_on(batch, rate, means)
            self.step += 1
            self.tokens += batch.labels.size
            if self.step % self.args.log_every == 0:
                self.report(batch, rate, progress, means)
            if time.monotonic() - saved > 60 * self.args.save_every:
                self.save()
                saved = time.monotonic()
        self.save()
        export.write(self.network, self.tokenizer, self.args.out / "recall-f16.gguf", "f16")
        export.write(self.network, self.tokenizer, self.args.out / "recall-q8_0.gguf", "q8_0")

    def train_on(self, batch: Batch, rate: float, means) -> None:
        rows, length = batch.labels.shape
        micro = rows // self.args.lanes
        if self.args.micro_tokens:
            micro = max(1, min(micro, self.args.micro_tokens // length))
        parts = []
        for begin in range(0, rows, micro):
            part = [torch.from_numpy(x[begin : begin + micro]).to(self.device) for x in batch]
            parts.append((Batch(*part), len(part[0]) / rows))
        for found in self.lanes.backward(parts):
            means.add(*found)
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.set_rate(rate)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def report(self, batch: Batch, rate: float, progress: float, means) -> None:
        row = {
            "step": self.step,
            "tokens": self.tokens,
            "seconds": round(self.elapsed(), 1),
            "progress": round(progress, 4),
            "length": batch.labels.shape[1],
            "rate": round(rate, 7),
            **means.take(),
        }
        progress_log.write(self.log, row)
        print(json.dumps(row), flush=True)


_maker: "BatchMaker | None" = None


def set_maker(maker: BatchMaker) -> None:
    global _maker
    _maker = maker


def make(*order) -> Batch:
    return _maker.make(*order)


if __name__ == "__main__":
    Run(arguments()).train()
