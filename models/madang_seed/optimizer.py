"""Two optimizers in one: Muon for the matrices of the layers, Adam for the embedding and the norms."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from .model import COMPUTED_IN, STACKED


class Optimizer:
    """Steps all parameters at a rate that the caller sets as a share of the peak."""

    def __init__(
        self, network: nn.Module, muon_rate: float = 0.02, adam_rate: float = 3e-3, decay: float = 0.02
    ) -> None:
        self._network = network
        self._muon_rate, self._adam_rate, self._decay = muon_rate, adam_rate, decay
        self._matrices = {n: p for n, p in network.named_parameters() if p.ndim == 2 and n != "embedding"}
        self._others = {n: p for n, p in network.named_parameters() if n not in self._matrices}
        self.state: dict[str, Tensor] = {}
        self.steps = 0

    def step(self, share: float, map_over: Callable[..., Iterable[None]] = map) -> None:
        """Uses the gradients and clears them; `map_over` may spread the matrices over threads."""
        self.steps += 1
        list(map_over(lambda entry: self._muon(*entry, self._muon_rate * share), self._matrices.items()))
        with torch.no_grad():
            for name, parameter in self._others.items():
                self._adam(name, parameter, self._adam_rate * share)
        self._network.zero_grad(set_to_none=False)

    @torch.no_grad()
    def _muon(self, name: str, parameter: Tensor, rate: float) -> None:
        gradient = parameter.grad
        assert gradient is not None
        momentum = self.state.setdefault(name, torch.zeros_like(parameter))
        momentum.lerp_(gradient, 0.05)
        direction = gradient.lerp(momentum, 0.95)
        parameter.mul_(1 - rate * self._decay)
        parts = direction.chunk(STACKED.get(name.rpartition(".")[2], 1))
        update = torch.cat([_orthogonal(part) * max(1.0, part.shape[0] / part.shape[1]) ** 0.5 for part in parts])
        parameter.add_(update, alpha=-rate)

    def _adam(self, name: str, parameter: Tensor, rate: float) -> None:
        gradient = parameter.grad
        assert gradient is not None
        first = self.state.setdefault(f"{name}.1", torch.zeros_like(parameter))
        second = self.state.setdefault(f"{name}.2", torch.zeros_like(parameter))
        first.lerp_(gradient, 0.1)
        second.mul_(0.98).addcmul_(gradient, gradient, value=0.02)
        scale = (1 - 0.98**self.steps) ** 0.5 / (1 - 0.9**self.steps)
        parameter.addcdiv_(first, second.sqrt().add_(1e-8), value=-rate * scale)


def _orthogonal(matrix: Tensor, rounds: int = 5) -> Tensor:
    """Makes all singular values about one (Newton-Schulz)."""
    x = matrix.to(COMPUTED_IN)
    x = x / (x.norm() + 1e-7)
    wide = x.shape[0] <= x.shape[1]
    x = x if wide else x.T
    for _ in range(rounds):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * (square @ square)) @ x
    return (x if wide else x.T).float()
