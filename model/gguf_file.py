"""GGUF files through llama.cpp's own package (pip install gguf): written whole, and the tensors of one read back."""

from pathlib import Path
from typing import NamedTuple

import gguf
import numpy as np
from gguf import GGMLQuantizationType, GGUFValueType
from metadata import U32


class Tensor(NamedTuple):
    name: str
    values: np.ndarray  # float32; numpy's order: the last extent is the row length
    type: str  # f32, f16 or q8_0


def write(path: Path, metadata: dict, tensors: list[Tensor]) -> None:
    """Metadata values: U32, float, bool, str, or lists of int (i32) or str. It names the architecture."""
    rest = dict(metadata)
    partial = path.with_name(path.name + ".part")
    writer = gguf.GGUFWriter(partial, rest.pop("general.architecture"))
    for key, value in rest.items():
        type = GGUFValueType.UINT32 if isinstance(value, U32) else GGUFValueType.get_type(value)
        writer.add_key_value(key, value, type)
    for name, values, type in tensors:
        type = GGMLQuantizationType[type.upper()]
        writer.add_tensor(name, gguf.quantize(values, type), raw_dtype=type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    partial.replace(path)


def read(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a file by name, as float32."""
    tensors = gguf.GGUFReader(path).tensors
    return {t.name: gguf.dequantize(t.data, t.tensor_type).reshape(t.shape[::-1]) for t in tensors}
