"""
AdamW for everything, or Muon for the matrices inside the layers: its updates are orthogonalised momentum, which needs
fewer tokens here. Rates are set from outside through `set_rate`.
"""

import torch


def make_optimizer(network, name: str, decay: float):
    hidden = [p for n, p in network.named_parameters() if p.dim() == 2 and "embedding" not in n]
    table = [p for n, p in network.named_parameters() if "embedding" in n]
    norms = [p for p in network.parameters() if p.dim() == 1]
    if name == "muon":
        parts = [Muon([{"params": hidden}], decay=decay)]
        hidden = []
    else:
        parts = []
    groups = [
        {"params": hidden, "weight_decay": decay},
        {"params": table, "weight_decay": 0.0},
        {"params": norms, "weight_decay": 0.0},
    ]
    adam = torch.optim.AdamW([g for g in groups if g["params"]], lr=0.0, betas=(0.9, 0.98), eps=1e-9)
    return Both([*parts, adam])


class Both:
    """Optimizers that act as one."""

    def __init__(self, parts):
        self.parts = parts

    def set_rate(self, rate: float) -> None:
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = rate * group.get("gain", 1.0)

    def step(self) -> None:
        for part in self.parts:
            part.step()

    def zero_grad(self) -> None:
        for part in self.parts:
            part.zero_grad(set_to_none=True)

    def state_dict(self):
        return [part.state_dict() for part in self.parts]

    def load_state_dict(self, states) -> None:
        for part, state in zip(self.parts, states):
            part.load_state_dict(state)


class Muon(torch.optim.Optimizer):
    # an orthogonal update of this many times Adam's rate moves a matrix about as much as Adam would
    GAIN = 4.0

    def __init__(self, groups, decay: float, momentum: float = 0.95):
        super().__init__(groups, {"lr": 0.0, "momentum": momentum, "decay": decay, "gain": self.GAIN})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(p)
                momentum = state["momentum"].mul_(group["momentum"]).add_(p.grad)
                update = orthogonal(p.grad.add(momentum, alpha=group["momentum"]))
                p.mul_(1 - group["lr"] * group["decay"])
                p.add_(update, alpha=-group["lr"] * max(1.0, p.shape[0] / p.shape[1]) ** 0.5)


def orthogonal(g, steps: int = 5):
    """Newton-Schulz: the singular values of g go near 1."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = g.shape[0] > g.shape[1]
    x = g.t() if tall else g
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        s = x @ x.t()
        x = a * x + (b * s + c * s @ s) @ x
    return x.t() if tall else x
