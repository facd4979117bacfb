"""
Byte-level BPE as llama.cpp has it for `tokenizer.ggml.model = gpt2` and `pre = qwen2`: digits stand alone, a word takes
the character before it. ASCII only, which spares Unicode classes: other text raises a ValueError.

Ids: bytes 0 to 255, then one token per merge in order of rank, then `<s>` and `<|endoftext|>`.
"""

import re
from pathlib import Path

MERGES_FILE = Path(__file__).with_name("merges.txt")

# llama.cpp's expression with its classes written out for ASCII
_PIECES = re.compile(
    r"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
    r"|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]| ?[^\sA-Za-z0-9]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def pieces(text: str) -> list[str]:
    """What merges cannot cross."""
    return _PIECES.findall(text)


def byte_alphabet() -> list[str]:
    """GPT-2's character for each byte: printable Latin-1 is itself, the other 68 bytes are U+0100 and on."""
    alphabet, spare = [], 0x100
    for b in range(256):
        if 0x21 <= b <= 0x7E or (b >= 0xA1 and b != 0xAD):
            alphabet.append(chr(b))
        else:
            alphabet.append(chr(spare))
            spare += 1
    return alphabet


class Tokenizer:
    def __init__(self, merges: list[tuple[int, int]]):
        """`merges` are pairs of ids, the first has the highest rank."""
        self.merges = merges
        self.ranks = {pair: i for i, pair in enumerate(merges)}
        self.bos = 256 + len(merges)
        self.eos = self.bos + 1
        self.size = self.bos + 2
        self.bytes = [bytes([b]) for b in range(256)]
        for left, right in merges:
            self.bytes.append(self.bytes[left] + self.bytes[right])
        self._cache: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        """Ids without BOS."""
        ids: list[int] = []
        cache = self._cache
        for piece in pieces(text):
            found = cache.get(piece)
            if found is None:
                found = cache[piece] = tuple(self._merge(piece))
            ids.extend(found)
        return ids

    def decode(self, ids) -> str:
        return b"".join(self.bytes[i] for i in ids if i < self.bos).decode("ascii", "replace")

    def _merge(self, piece: str) -> list[int]:
        try:
            ids = list(piece.encode("ascii"))
        except UnicodeEncodeError as error:
            raise ValueError(f"not ASCII: {piece!r}") from error
        ranks = self.ranks
        while len(ids) > 1:
            worst = len(ranks)
            rank, i = min((ranks.get(pair, worst), i) for i, pair in enumerate(zip(ids, ids[1:])))
            if rank == worst:
                break
            ids[i : i + 2] = [256 + rank]
        return ids

    def token_texts(self) -> list[str]:
        """Every token as GGUF has it."""
        alphabet = byte_alphabet()
        texts = ["".join(alphabet[b] for b in token) for token in self.bytes]
        return [*texts, "<s>", "<|endoftext|>"]

    def merge_texts(self) -> list[str]:
        texts = self.token_texts()
        return [f"{texts[left]} {texts[right]}" for left, right in self.merges]

    def save(self, path: Path = MERGES_FILE) -> None:
        path.write_text("".join(line + "\n" for line in self.merge_texts()), "utf-8")

    @staticmethod
    def load(path: Path = MERGES_FILE) -> "Tokenizer":
        ids = {text: i for i, text in enumerate(byte_alphabet())}
        merges = []
        for line in path.read_text("utf-8").splitlines():
            left, right = line.split(" ")
            merges.append((ids[left], ids[right]))
            ids[left + right] = 255 + len(merges)
        return Tokenizer(merges)
