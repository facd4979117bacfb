"""Prints the prose of Markdown files, cleaned as the training's English is, one file after the other."""

import argparse
import re
import sys
from pathlib import Path

from english import clean


def prose(markdown: str) -> str:
    """Without code blocks, tables, images, HTML and the targets of links."""
    text = re.sub(r"^ *(```|~~~).*?^ *\1[^\n]*\n", "", markdown, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->|<[/a-zA-Z][^>\n]*>", "", text, flags=re.S)
    text = re.sub(r"!\[[^]\n]*\](\([^)\n]*\)|\[[^]\n]*\])", "", text)
    text = re.sub(r"\[([^]\n]*)\](\([^)\n]*\)|\[[^]\n]*\])", r"\1", text)
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if not re.match(r"\s*(\||\[[^]]*\]:|\W+$)", line))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    for path in parser.parse_args().files:
        sys.stdout.write(clean(prose(path.read_text("utf-8", "replace"))))


if __name__ == "__main__":
    main()
