"""What H2O is held to, against stock in the same run."""

from .contenders import POLICIES
from .tables import best_of, best_of_policy

SHORT, LONG = 4096, 131072

# By model: length, kind of stock, least speed-up; as set before anything had run on a device. Where no more is asked, H2O
# must not be slower than stock.
SPEED_UPS = {
    "qwen3-1.7b": [(SHORT, "on", 0.97), (16384, "on", 1.5), (65536, "on", 3.4), (LONG, "on", 6), (SHORT, "off", 1.5)],
    "qwen3-8b": [(SHORT, "on", 0.97), (16384, "on", 0.97), (65536, "on", 2.2), (LONG, "on", 0.97), (SHORT, "off", 1.5)],
}
LEAST_RATE = 0.85


def target_table(report, rows):
    """rows: by model, length and contender."""
    report.line("\n## Targets: the best setting of each policy with an F16 cache against the best of stock")
    report.head("model", "target", *[policy.name for policy in POLICIES])
    for model, speed_ups in SPEED_UPS.items():
        at = rows.get(model, {})
        for n, kind, least in speed_ups:
            values = [ratio(best_of(at.get(n, {}), kind), best_of_policy(at.get(n, {}), policy)) for policy in POLICIES]
            report.row(model, f"{n} tokens: {least}x of -fa {kind}", *[verdict(value, least, "x") for value in values])
        values = [rate_kept(at, policy) for policy in POLICIES]
        target = f"tokens/s at {LONG}: {LEAST_RATE} of those at {SHORT}"
        report.row(model, target, *[verdict(value, LEAST_RATE, "") for value in values])


def rate_kept(rows, policy):
    long, short = [ratio(n, best_of_policy(rows.get(n, {}), policy)) for n in (LONG, SHORT)]
    return ratio(long, short)


def ratio(a, b):
    return a / b if a and b else None


def verdict(value, least, unit):
    if value is None:
        return "not measured"
    return f"{value:.3f}{unit}, {'met' if value >= least else 'missed'}"
