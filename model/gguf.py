"""GGUF v3 files: metadata, tensor infos, aligned tensor data. Reads what it writes, and of that the tensors."""

import struct
from os import SEEK_CUR
from pathlib import Path
from typing import NamedTuple

import numpy as np

from metadata import U32
from quantise import TYPES, decode, encode

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


def read(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a file by name, as float32."""
    with path.open("rb") as file:
        if file.read(4) != b"GGUF" or _number(file, "I") != 3:
            raise ValueError(f"{path} is not a GGUF file of version 3")
        count, entries = _number(file, "Q"), _number(file, "Q")
        for _ in range(entries):
            _read_string(file)
            _skip_value(file, _number(file, "I"))
        infos = []
        for _ in range(count):
            name = _read_string(file)
            shape = [_number(file, "Q") for _ in range(_number(file, "I"))][::-1]
            infos.append((name, shape, _number(file, "I"), _number(file, "Q")))
        file.seek(_padding(file.tell()), SEEK_CUR)
        data = file.read()
    return {name: decode(data[offset:], shape, type) for name, shape, type, offset in infos}


def _number(file, format: str):
    return struct.unpack("<" + format, file.read(struct.calcsize("<" + format)))[0]


def _read_string(file) -> str:
    return file.read(_number(file, "Q")).decode()


def _skip_value(file, type: int) -> None:
    if type == _STRING:
        _read_string(file)
    elif type == _ARRAY:
        of, count = _number(file, "I"), _number(file, "Q")
        for _ in range(count):
            _skip_value(file, of)
    else:
        _number(file, {_U32: "I", _I32: "i", _F32: "f", _BOOL: "?"}[type])


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
