"""Tiny models of the model maker in float64: all of a layer but which keys a query sees."""

import numpy as np


class Network:
    """`attend(layer, q)` gives what the queries [n, heads, d] find; `store(layer, k, v)` comes before it."""

    def __init__(self, tensors, config):
        self.tensors = {name: values.astype(np.float64) for name, values in tensors.items()}
        self.config = config
        self.arch = config["arch"]
        self.n_own = config["layers"] - config["sharedKvLayers"]  # layers with keys of their own
        self.is_gemma = self.arch.startswith("gemma")
        self.cap = config["metadata"].get("gemma2.attn_logit_softcapping", {"value": 0})["value"]

    def window(self, layer):
        """0: the layer sees all positions."""
        pattern = self.config["slidingPattern"]
        return self.config["slidingWindow"] if (layer + 1) % pattern else 0

    def source(self, layer):
        """The layer whose keys and values this one reads: of the last two with their own, the one of its kind."""
        if layer < self.n_own:
            return layer
        return self.n_own - (2 if self.window(layer) else 1)

    def forward(self, tokens, base, store, attend, convolve):
        c = self.config
        embedding = self.tensors["token_embd.weight"]
        x = embedding[tokens] * (np.float64(np.float32(np.sqrt(c["hidden"]))) if self.is_gemma else 1)
        for layer in range(c["layers"]):
            t = Layer(self.tensors, layer)
            h = self.norm(x, t["attn_norm.weight"])
            if t["attn_q.weight"] is None:
                h = self.short_convolution(t, h, lambda bx: convolve(layer, bx))
            else:
                h = self.attention(t, layer, h, base, store, attend)
            if self.is_gemma:
                x = x + self.norm(h, t["post_attention_norm.weight"])
                continue  # the rest is zero in these files: ggml has GELU from a table of F16 values
            x = x + h
            h = self.norm(x, t["post_attention_norm.weight" if self.arch == "gpt-oss" else "ffn_norm.weight"])
            x = x + (self.experts(t, h) if self.arch == "gpt-oss" else self.feed_forward(t, h))
        last = self.tensors["token_embd_norm.weight" if self.arch == "lfm2" else "output_norm.weight"]
        z = self.norm(x, last) @ self.tensors.get("output.weight", embedding).T
        return 30 * np.tanh(z / 30) if self.arch in ("gemma2", "gemma4") else z

    def norm(self, x, weight=1.0):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + np.float32(self.config["eps"])) * weight

    def attention(self, t, layer, h, base, store, attend):
        d = self.config["windowHeadDim" if self.window(layer) else "headDim"]
        scale = 1 if self.arch == "gemma4" else 1 / np.sqrt(d)

        def heads(name):
            y = t.linear(f"attn_{name}", h).reshape(len(h), -1, d)
            weight = t[f"attn_{name}_norm.weight"]
            return y if weight is None else self.norm(y, weight)

        if layer < self.n_own:
            v = heads("v")
            store(layer, self.rope(heads("k"), layer, base), self.norm(v) if self.arch == "gemma4" else v)
        found = attend(layer, self.rope(heads("q"), layer, base) * scale)
        return t.linear("attn_output", found.reshape(len(h), -1))

    def rope(self, x, layer, base):
        n, _, d = x.shape
        # ggml makes angles in F32, one from the one before: that is far off at late positions
        angle = np.empty((n, d // 2), dtype=np.float32)
        angle[:, 0] = np.arange(base, base + n)
        angle[:, 1:] = np.float32(self.config["ropeBase"]) ** np.float32(-2 / d)
        angle = np.multiply.accumulate(angle, axis=1)
        if "rope_freqs.weight" in self.tensors and not self.window(layer):
            angle /= self.tensors["rope_freqs.weight"].astype(np.float32)
        turn = np.exp(1j * angle.astype(np.float64))[:, None]
        if self.arch == "llama":
            y = (x[..., ::2] + 1j * x[..., 1::2]) * turn
            return np.stack([y.real, y.imag], -1).reshape(x.shape)
        y = (x[..., : d // 2] + 1j * x[..., d // 2 :]) * turn
        return np.concatenate([y.real, y.imag], -1)

    def feed_forward(self, t, h):
        return t.linear("ffn_down", silu(t.linear("ffn_gate", h)) * t.linear("ffn_up", h))

    def experts(self, t, h):
        route = t.linear("ffn_gate_inp", h)
        out = np.zeros_like(h)
        for i, row in enumerate(h):
            used = np.argsort(-route[i], kind="stable")[: self.config["expertsUsed"]]
            weights = np.exp(route[i, used] - route[i, used].max())
            for e, weight in zip(used, weights / weights.sum()):
                gate = np.minimum(t.linear("ffn_gate_exps", row, e), 7)
                up = np.clip(t.linear("ffn_up_exps", row, e), -7, 7)
                out[i] += weight * t.linear("ffn_down_exps", silu(1.702 * gate) / 1.702 * (up + 1), e)
        return out

    def short_convolution(self, t, h, before):
        b, c, x = np.split(t.linear("shortconv.in_proj", h), 3, axis=-1)
        kernel = t["shortconv.conv.weight"].T
        bx = np.concatenate([before(b * x), b * x])
        y = sum(bx[i : i + len(h)] * tap for i, tap in enumerate(kernel))
        return t.linear("shortconv.out_proj", c * y)


class Layer:
    def __init__(self, tensors, layer):
        self.tensors, self.prefix = tensors, f"blk.{layer}."

    def __getitem__(self, name):
        return self.tensors.get(self.prefix + name)

    def linear(self, name, x, expert=...):
        bias = self[name + ".bias"]
        return x @ self[name + ".weight"][expert].T + (0 if bias is None else bias[expert])


def silu(x):
    return x / (1 + np.exp(-x))
