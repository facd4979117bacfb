"""What an answer token is an answer to: the family, and for variables the number of hops. 0 is no answer."""

from tasks import FAMILIES, Ask

MAX_HOPS = 3
LABELS = ["text", *FAMILIES, *(f"variables-{hops}" for hops in range(2, MAX_HOPS + 1))]
_IDS = {name: i for i, name in enumerate(LABELS)}


def label(family: str, ask: Ask) -> int:
    return _IDS[family if ask.hops == 1 else f"{family}-{ask.hops}"]
