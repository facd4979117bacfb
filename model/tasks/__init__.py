"""
The task families by name. Each module has `facts(rng, count)` and the LIMIT of facts in one document. A key always
follows a space: at the beginning of a line it would be another token than within one.
"""

from . import code, copyspan, needle, pairs, passkey, records, story, table, variables
from .fact import Ask, Fact

FAMILIES = {
    "passkey": passkey,
    "needle": needle,
    "pairs": pairs,
    "records": records,
    "variables": variables,
    "copy": copyspan,
    "story": story,
    "table": table,
    "code": code,
}

__all__ = ["FAMILIES", "Ask", "Fact"]
