"""Shapes of the model. Everything that the file format and the training both need to know."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class ModelConfig:
    vocab: int = 2048
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    ffn: int = 384
    context: int = 8192
    # content is matched in the dimensions that turn little over the whole context: at this base half of them
    rope_base: float = 100_000_000.0
    eps: float = 1e-6

    def parameters(self) -> int:
        attention = self.hidden * self.head_dim * 2 * (self.heads + self.kv_heads) + 2 * self.head_dim
        layer = attention + 3 * self.hidden * self.ffn + 2 * self.hidden
        return self.vocab * self.hidden + self.layers * layer + self.hidden

    def as_dict(self) -> dict:
        return asdict(self)


PRESETS = {
    # for the pipeline's own checks
    "tiny": ModelConfig(hidden=64, layers=2, heads=2, kv_heads=1, head_dim=32, ffn=128),
    # an hour on two CPU cores
    "small": ModelConfig(),
    # two or three hours on two CPU cores
    "medium": ModelConfig(hidden=192, layers=4, heads=6, kv_heads=2, ffn=512),
    # a GPU; 9.2 M parameters, 10 MB in Q8_0
    "large": ModelConfig(hidden=320, layers=6, heads=8, kv_heads=4, head_dim=64, ffn=896),
}
