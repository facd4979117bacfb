"""The tables: time to the first token over length, and where the time goes."""

from .contenders import POLICIES, S
from .shapes import MODELS, attention_work, linear_work


def best_of(rows, kind):
    """The fastest setting of a kind of stock; None unless all of them were measured."""
    times = [row.get("ms") for contender, row in rows.items() if contender.kind == kind]
    return min(times) if times and None not in times else None


def best_of_policy(rows, policy):
    """Its fastest setting with an F16 cache."""
    rows = [row for contender, row in rows.items() if contender.policy is policy and contender.cache == "f16"]
    return min((row["ms"] for row in rows if "ms" in row and "flaw" not in row), default=None)


def first_token_table(report, bench, model, contenders, lengths):
    """Returns the rows by length and contender."""
    settings = "; ".join(f"{p.name}: L = {p.local}, H = {p.heavy}, dense tail {p.tail}" for p in POLICIES)
    report.line(f"\n## {model}, {bench.args.type} weights: time to the first token\n\nS = {S}; {settings}.")
    report.head("tokens", "contender", "ms", "median", "tokens/s", "TFLOP/s", "floor ms", "to the floor", "to -fa on", "to -fa off")
    all_rows = {}
    for n in lengths:
        rows = {c: bench.first_token(model, c, n) for c in contenders if n in c.lengths}
        all_rows[n] = rows
        stock = [best_of(rows, "on") or best_of(rows, "dense"), best_of(rows, "off")]
        for contender, row in rows.items():
            report.source(row)
            work = linear_work(MODELS[model], n, contender, bench.args.type) + attention_work(MODELS[model], n, contender)
            floor = work.floor_ms(bench.args.peak)
            name = name_of(contender, row)
            if "ms" not in row:
                report.row(n, name, failure(row), "", "", "", f"{floor:.1f}", "", "", "")
                continue
            ms = row["ms"]
            report.row(n, name, f"{ms:.1f}", f"{row['median']:.1f}", f"{1000 * n / ms:.0f}", tera(work, ms), f"{floor:.1f}",
                       f"{ms / floor:.2f}x", *[f"{time / ms:.2f}x" if time else "" for time in stock])
    return all_rows


def profile_table(report, bench, models, contenders, lengths):
    report.line("\n## Where the time goes: ms of a prefill that is cut where the kind of work changes")
    report.head("model", "tokens", "contender", "whole", "cut", "linear", "TFLOP/s", "floor", "attention", "TFLOP/s", "floor",
                "intra", "inter", "selection", "rest of attention", "other")
    for model in models:
        for n in lengths:
            for contender in contenders:
                row = bench.profile(model, contender, n)
                report.source(row)
                name = name_of(contender, row)
                if "ms" not in row:
                    report.row(model, n, name, failure(row), *[""] * 12)
                    continue
                profile = row["out"]["profile"]
                parts = profile["partsMs"]
                steps = [parts[kind] for kind in ("intra", "inter", "selection", "attention")]
                cells = []
                for ms, work in [
                    (parts["linear"], linear_work(MODELS[model], n, contender, bench.args.type)),
                    (sum(steps), attention_work(MODELS[model], n, contender)),
                ]:
                    cells += [f"{ms:.1f}", tera(work, ms), f"{work.floor_ms(bench.args.peak):.1f}"]
                report.row(model, n, name, f"{profile['plainMs']:.1f}", f"{profile['totalMs']:.1f}", *cells,
                           *[f"{ms:.1f}" for ms in steps], f"{parts['other']:.1f}")


def tera(work, ms):
    return f"{work.flop / ms / 1e9:.0f}" if ms else ""


def name_of(contender, row):
    return contender.name + (f" ({row['flaw']})" if "flaw" in row else "")


def failure(row):
    return row["error"].replace("|", "/") if row else "not measured"
