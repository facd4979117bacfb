"""What H2O is held to, against stock in the same run."""

from .tables import best_of, best_of_h2o

MODELS = ["qwen3-1.7b", "qwen3-8b"]

# length, kind of stock, least speed-up, models
SPEED_UPS = [
    (4096, "on", 0.97, MODELS),
    (16384, "on", 1.4, ["qwen3-1.7b"]),
    (65536, "on", 3, MODELS),
    (131072, "on", 5, MODELS),
    (4096, "off", 1.5, MODELS),
]
LONG, SHORT, LEAST_RATE = 131072, 4096, 0.8


def target_table(report, rows):
    """rows: by model, length and contender."""
    report.line("\n## Targets: the best setting of H2O with an F16 cache against the best of stock")
    report.head("model", "target", "value", "")
    for model in MODELS:
        by_length = rows.get(model, {})
        for n, kind, least, models in SPEED_UPS:
            if model in models:
                at = by_length.get(n, {})
                verdict(report, model, f"{n} tokens: {least}x of -fa {kind}", ratio(best_of(at, kind), best_of_h2o(at)), least, "x")
        long, short = [ratio(n, best_of_h2o(by_length.get(n, {}))) for n in (LONG, SHORT)]
        verdict(report, model, f"tokens/s at {LONG}: {LEAST_RATE} of those at {SHORT}", ratio(long, short), LEAST_RATE, "")


def ratio(a, b):
    return a / b if a and b else None


def verdict(report, model, target, value, least, unit):
    if value is None:
        report.row(model, target, "", "not measured")
    else:
        report.row(model, target, f"{value:.3f}{unit}", "met" if value >= least else "missed")
