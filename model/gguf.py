"""A GGUF v3 writer: metadata, tensor infos, aligned tensor data."""

import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np

from metadata import U32
from quantise import TYPES, encode

ALIGNMENT = 32
_U32, _I32, _F32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9


class Tensor(NamedTuple):
    name: str
    values: np.ndarray  # float32; numpy's order: the last extent is the row length
    type: str


def write(path: Path, metadata: dict, tensors: list[Tensor]) -> None:
    """Metadata values: U32, float, bool, str, or lists of int (i32) or str."""
    encoded = [encode(tensor.values, tensor.type) for tensor in tensors]
    head = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(metadata))]
    for key, value in metadata.items():
        head.append(_string(key) + _value(value))
    offset = 0
    for tensor, data in zip(tensors, encoded):
        shape = tensor.values.shape[::-1]
        head.append(_string(tensor.name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape))
        head.append(struct.pack("<IQ", TYPES[tensor.type], offset))
        offset += len(data) + _padding(len(data))
    begin = b"".join(head)
    partial = path.with_name(path.name + ".part")
    with partial.open("wb") as file:
        for data in (begin, *encoded):
            file.write(data + bytes(_padding(len(data))))
    partial.replace(path)


def _padding(size: int) -> int:
    return -size % ALIGNMENT


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<IB", _BOOL, value)
    if isinstance(value, U32):
        return struct.pack("<II", _U32, value)
    if isinstance(value, float):
        return struct.pack("<If", _F32, value)
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    if value and isinstance(value[0], str):
        return struct.pack("<IIQ", _ARRAY, _STRING, len(value)) + b"".join(map(_string, value))
    return struct.pack(f"<IIQ{len(value)}i", _ARRAY, _I32, len(value), *value)
