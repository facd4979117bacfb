"""Natural English as token ids, made once and kept in the work folder."""

import hashlib
import json
from array import array
from pathlib import Path
from typing import NamedTuple

import english
from tokenizer import MERGES_FILE, Tokenizer


class Texts(NamedTuple):
    """All texts as ids, one after the other, and where each begins."""

    ids: "array[int]"
    begins: list[int]


def load(work: Path, tokenizer: Tokenizer) -> tuple[Texts, dict]:
    """Training texts, and what they were made of. The held-out texts lie in `held-out.json`."""
    cache, about = work / "english.ids", work / "english.json"
    merges = hash_of(MERGES_FILE.read_bytes())
    if not (about.exists() and json.loads(about.read_text())["merges"] == merges):
        make(work, tokenizer, merges)
    ids = array("H")
    ids.frombytes(cache.read_bytes())
    made_of = json.loads(about.read_text())
    return Texts(ids, made_of.pop("begins")), made_of


def make(work: Path, tokenizer: Tokenizer, merges: str) -> None:
    work.mkdir(parents=True, exist_ok=True)
    docs = english.documents()
    training, held_out = english.split(docs)
    ids, begins = array("H"), []
    for text in training:
        begins.append(len(ids))
        ids.extend(tokenizer.encode(text))
    (work / "english.ids").write_bytes(ids.tobytes())
    (work / "held-out.json").write_text(json.dumps(held_out))
    about = {
        "merges": merges,
        "fingerprint": english.fingerprint(docs),
        "files": len(docs),
        "tokens": len(ids),
        "begins": begins,
    }
    (work / "english.json").write_text(json.dumps(about))


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
