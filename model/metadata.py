"""What the GGUF file says of the model and its tokenizer."""

from config import ModelConfig
from tokenizer import Tokenizer

# llama_ftype
FILE_TYPES = {"f32": 0, "f16": 1, "q8_0": 7}
_NORMAL, _CONTROL = 1, 3


class U32(int):
    """Written as an unsigned integer."""


def model_metadata(c: ModelConfig, type: str) -> dict:
    return {
        "general.architecture": "qwen3",
        "general.name": "recall",
        "general.file_type": U32(FILE_TYPES[type]),
        "qwen3.block_count": U32(c.layers),
        "qwen3.context_length": U32(c.context),
        "qwen3.embedding_length": U32(c.hidden),
        "qwen3.feed_forward_length": U32(c.ffn),
        "qwen3.attention.head_count": U32(c.heads),
        "qwen3.attention.head_count_kv": U32(c.kv_heads),
        "qwen3.attention.key_length": U32(c.head_dim),
        "qwen3.attention.value_length": U32(c.head_dim),
        "qwen3.attention.layer_norm_rms_epsilon": c.eps,
        "qwen3.rope.freq_base": c.rope_base,
        "qwen3.rope.dimension_count": U32(c.head_dim),
        "qwen3.vocab_size": U32(c.vocab),
    }


def vocabulary(tokenizer: Tokenizer) -> dict:
    texts = tokenizer.token_texts()
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": texts,
        "tokenizer.ggml.token_type": [_NORMAL] * (len(texts) - 2) + [_CONTROL] * 2,
        "tokenizer.ggml.merges": tokenizer.merge_texts(),
        "tokenizer.ggml.bos_token_id": U32(tokenizer.bos),
        "tokenizer.ggml.eos_token_id": U32(tokenizer.eos),
        "tokenizer.ggml.add_bos_token": True,
    }
