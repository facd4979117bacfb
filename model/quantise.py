"""float32 values to the bytes that ggml stores, with the rounding of its reference quantisers, and back."""

import numpy as np

# ggml_type
TYPES = {"f32": 0, "f16": 1, "q8_0": 8}
_Q8_0 = np.dtype([("d", "<f2"), ("q", "i1", 32)])


def encode(values: np.ndarray, type: str) -> bytes:
    values = np.ascontiguousarray(values, np.float32)
    return {
        "f32": values.tobytes,
        "f16": lambda: values.astype(np.float16).tobytes(),
        "q8_0": lambda: q8_0(values),
    }[type]()


def decode(data: bytes, shape, type: int) -> np.ndarray:
    """The first values of `data`; `type` is a ggml_type."""
    count = int(np.prod(shape))
    if type == TYPES["q8_0"]:
        blocks = np.frombuffer(data, _Q8_0, count // 32)
        values = blocks["d"].astype(np.float32)[:, None] * blocks["q"]
    else:
        values = np.frombuffer(data, {TYPES["f32"]: "<f4", TYPES["f16"]: "<f2"}[type], count)
    return values.astype(np.float32).reshape(shape)


def q8_0(values: np.ndarray) -> bytes:
    """Blocks of 32: half d = max|x| / 127, then round(x / d) as bytes, halves away from zero."""
    blocks = values.reshape(-1, 32)
    d = np.abs(blocks).max(axis=1, keepdims=True) / np.float32(127)
    inverse = np.divide(np.float32(1), d, out=np.zeros_like(d), where=d != 0)
    scaled = blocks * inverse
    rounded = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)
    out = np.empty(len(blocks), _Q8_0)
    out["d"] = d[:, 0]
    out["q"] = rounded
    return out.tobytes()
