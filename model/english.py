"""
Natural English that Debian's packages install under free licences: manual pages, info files and plain-text manuals.
Read where it lies at training time, never committed; what was found is named by a hash.
"""

import gzip
import hashlib
import re
from pathlib import Path

DPKG = Path("/var/lib/dpkg")
_MAN = re.compile(r"/usr/share/man/man[1-8]/.*\.gz$")
_INFO = re.compile(r"/usr/share/info/.*\.info(-\d+)?\.gz$")
_MANUAL = re.compile(
    r"/usr/share/vim/.*/doc/.*\.txt$|/usr/share/doc/git/.*\.txt$|/usr/share/common-licenses/\w+$"
)
_LARGEST = 400_000
_HELD_OUT_SHARE = 20


def free_packages() -> list[str]:
    """Installed packages that Debian maintains, without non-free and contrib."""
    names = []
    for entry in (DPKG / "status").read_text("utf-8", "replace").split("\n\n"):
        fields = dict(re.findall(r"^([A-Z][\w-]*): (.*)$", entry, re.M))
        section = fields.get("Section", "non-free")
        if "debian" in fields.get("Maintainer", "").lower() and not re.match("non-free|contrib", section):
            names.append(fields["Package"])
    return sorted(set(names))


def files() -> list[Path]:
    found = set()
    for package in free_packages():
        for listing in DPKG.glob(f"info/{package}.list"), DPKG.glob(f"info/{package}:*.list"):
            for path in listing:
                for line in path.read_text("utf-8", "replace").splitlines():
                    if _MAN.match(line) or _INFO.match(line) or _MANUAL.match(line):
                        found.add(Path(line))
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def documents() -> list[tuple[str, str]]:
    """(path, text) of each, ASCII, no two alike."""
    seen, kept = set(), []
    for path in files():
        data = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
        text = data[:_LARGEST].decode("utf-8", "replace")
        text = clean(from_roff(text) if _MAN.match(str(path)) else text)
        digest = hashlib.sha256(text.encode()).digest()
        if len(text) > 1000 and digest not in seen:
            seen.add(digest)
            kept.append((str(path), text))
    return kept


def split(docs: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Texts for training and held-out texts, by a hash of the path."""
    training, held_out = [], []
    for path, text in docs:
        chosen = hashlib.sha256(path.encode()).digest()[0] % _HELD_OUT_SHARE == 0
        (held_out if chosen else training).append(text)
    return training, held_out


def fingerprint(docs: list[tuple[str, str]]) -> str:
    digest = hashlib.sha256()
    for path, text in docs:
        digest.update(f"{path}\0{text}\0".encode())
    return digest.hexdigest()[:16]


_TEXT_MACROS = re.compile(r"\.(SH|SS|B|I|BR|BI|RB|IR|IB|RI|SM|IP|Nm|Fl|Ar|Xr|Sh|Ss|Dq|Pa|Ic|Cm) ")


def from_roff(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if line.startswith((".", "'")):
            if not _TEXT_MACROS.match(line):
                continue
            macro, rest = line.split(" ", 1)
            words = [a or b for a, b in re.findall(r'"([^"]*)"|(\S+)', rest)]
            alternating = macro in (".BR", ".BI", ".RB", ".IR", ".IB", ".RI")
            line = ("" if alternating else " ").join(words)
            if macro in (".SH", ".SS", ".Sh", ".Ss"):
                line = "\n" + line
        lines.append(line)
    text = "\n".join(lines)
    text = re.sub(r"\\f(\(..|\[[^]]*\]|.)|\\s[-+]?\d|\\[&|^/,%]|\\\".*", "", text)
    text = re.sub(r"\\\((aq|cq|oq)|\\\[(aq|cq|oq)\]", "'", text)
    text = re.sub(r"\\\((dq|lq|rq)|\\\[(dq|lq|rq)\]", '"', text)
    text = re.sub(r"\\\((..)|\\\[[^]]*\]|\\\*(\(..|\[[^]]*\]|.)", "", text)
    return text.replace("\\-", "-").replace("\\e", "\\").replace("\\ ", " ")


_ASCII = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"}
)


def clean(text: str) -> str:
    """ASCII lines only, tabs as spaces, no long gaps."""
    lines = []
    for line in text.translate(_ASCII).expandtabs(4).splitlines():
        line = re.sub(r"(.)\1{5,}", r"\1\1\1", line.rstrip())
        line = re.sub(r"(?<=\S) {2,}", "  ", line)
        if line.isascii() and (line.isprintable() or not line):
            lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"
