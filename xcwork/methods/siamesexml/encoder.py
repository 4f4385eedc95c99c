"""The encoder: a bag of token embeddings, an activation, a normalisation, and a residual block on top.

    f(x) = N(act(Eᵀ x))                       intermediate embedding, of which module I learns E
    E(x) = N(f(x) + ρ act(R̂ f(x) + b))         final embedding, of which modules III and IV learn R, b and ρ

R̂ = R / σ(R) has spectral norm one, so the block cannot stretch distances by more than 1 + ρ. R starts as the identity
and ρ at 0: then E = f, and the classifiers start exactly where the encoder stopped, as Lemma 2 of the paper assumes.

N is the plain normalisation, which leaves a zero vector zero, or N_ν(v) = [v, ν] / √(‖v‖² + ν²) of the paper's proofs,
which is Lipschitz and adds a dimension each time it is applied.

Autograd goes down to the sums of the bags and no further: the gradient of a token is the sum of the gradients of the
texts it occurs in, so the optimiser (`common.row_adam`) needs rows for the tokens of a batch only and touches no
others.

Outside of training everything after the bag is computed in double precision, where the device has it, and rounded once,
so that a document has the same embedding alone and in a batch.

With `start=sentence` f comes from a sentence encoder instead (`FrozenEncoder`), and only the residual block is learned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch.nn import functional as F

from xcwork.compute.device import raise_precision
from xcwork.compute.transfer import send_arrays
from xcwork.methods.common.token_bags import TokenBags

Activation = Callable[[torch.Tensor], torch.Tensor]
ACTIVATIONS: dict[str, Activation] = {"gelu": F.gelu, "relu": F.relu, "identity": lambda v: v}
ROWS_PER_BLOCK = 4096  # encoded together


def normalise(v: torch.Tensor, nu: float) -> torch.Tensor:
    """Return N_ν(v), or the plain normalisation where ν is 0."""
    if nu == 0:
        return F.normalize(v, dim=-1)
    longer = F.pad(v, (0, 1), value=nu)
    return longer / torch.linalg.vector_norm(longer, dim=-1, keepdim=True)


class ResidualBlock:
    """v ↦ N(v + ρ act(R̂ v + b))."""

    PARAMETER_NAMES = ("R", "bias", "radius")

    def __init__(self, dimension: int, activation: str, nu: float, device: torch.device) -> None:
        self.R = torch.eye(dimension, device=device)
        self.bias = torch.zeros(dimension, device=device)
        self.radius = torch.zeros(1, device=device)
        self.left = torch.full((dimension,), dimension**-0.5, device=device)  # estimate of R's first singular vector
        self.activation = activation
        self.nu = nu

    def parameters(self) -> dict[str, torch.Tensor]:
        """Return what is trained, by name."""
        return {name: getattr(self, name) for name in self.PARAMETER_NAMES}

    def improve_spectrum(self) -> None:
        """Take one step of the power iteration that follows the largest singular value of R."""
        right = F.normalize(self.R.T @ self.left, dim=0)
        self.left = F.normalize(self.R @ right, dim=0)

    def estimate_norm(self, R: torch.Tensor) -> torch.Tensor:
        """Return the estimate of σ(R), differentiable in R."""
        left = self.left.to(R.dtype)
        right = F.normalize(R.detach().T @ left, dim=0)
        return left @ (R @ right)

    def compute_branch(self, v: torch.Tensor, parameters: Mapping[str, torch.Tensor] | None = None) -> torch.Tensor:
        """Return R̂ v + b, before the activation."""
        p = parameters or {name: value.to(v.dtype) for name, value in self.parameters().items()}
        norms = self.estimate_norm(p["R"]).expand(len(p["R"]), 1)
        return v @ (p["R"] / norms).T + p["bias"]

    def __call__(
        self, v: torch.Tensor, parameters: Mapping[str, torch.Tensor] | None = None, keep: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the final embeddings; `keep` is the mask of dropout on the branch, scaled."""
        radius = self.radius.to(v.dtype) if parameters is None else parameters["radius"]
        added = radius.expand(len(v), 1) * ACTIVATIONS[self.activation](self.compute_branch(v, parameters))
        return normalise(v + (added if keep is None else added * keep), self.nu)

    def copy_to_cpu(self) -> ResidualBlock:
        """Return a block with the same numbers on the CPU; itself where it is there."""
        if self.R.device.type == "cpu":
            return self
        copied = ResidualBlock(len(self.R), self.activation, self.nu, torch.device("cpu"))
        copied.set_state(self.get_state())
        return copied

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything as new arrays."""
        return {name: getattr(self, name).cpu().numpy().copy() for name in (*self.PARAMETER_NAMES, "left")}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` returned."""
        for name in (*self.PARAMETER_NAMES, "left"):
            getattr(self, name).copy_(torch.from_numpy(np.asarray(state[name])))


class Encoder:
    """Token table and residual block on one device."""

    def __init__(self, table: torch.Tensor, activation: str = "gelu", nu: float = 0.0) -> None:
        self.table = table
        self.activation = activation
        self.nu = nu
        self.residual = ResidualBlock(self.dimension, activation, nu, table.device)

    @property
    def device(self) -> torch.device:
        return self.table.device

    @property
    def dimension(self) -> int:
        """The length of an intermediate embedding."""
        return self.table.shape[1] + (self.nu > 0)

    def sum_bags(self, X: sparse.csr_array) -> tuple[TokenBags, torch.Tensor]:
        """Return the bags of texts, and their sums as the leaves of a new graph of derivatives."""
        bags = TokenBags(X, self.device)
        return bags, bags.sum_tokens(self.table).requires_grad_()

    def activate(self, sums: torch.Tensor) -> torch.Tensor:
        """Return f, given the sums of the bags."""
        return normalise(ACTIVATIONS[self.activation](sums), self.nu)

    @torch.no_grad()
    def encode(self, X: sparse.csr_array) -> np.ndarray:
        """Return f of every row of `X` (n, n_tokens), as (n, dimension) float32; zero for a text without tokens."""
        done = np.empty((X.shape[0], self.dimension), np.float32)
        for start in range(0, X.shape[0], ROWS_PER_BLOCK):
            sums = TokenBags(X[start : start + ROWS_PER_BLOCK], self.device).sum_tokens(self.table)
            done[start : start + ROWS_PER_BLOCK] = self.activate(raise_precision(sums)).float().cpu()
        done[np.diff(X.indptr) == 0] = 0  # N_ν would give all of them one direction, in which nothing is known
        return done

    @torch.no_grad()
    def finish(self, f: np.ndarray) -> np.ndarray:
        """Return E of intermediate embeddings, (n, dimension) float32; N_ν adds a dimension."""
        blocks = (
            send_arrays(self.device, f[start : start + ROWS_PER_BLOCK]) for start in range(0, len(f), ROWS_PER_BLOCK)
        )
        parts = [self.residual(raise_precision(block)).float().cpu() for (block,) in blocks]
        return torch.cat(parts).numpy() if parts else np.empty((0, self.dimension + (self.nu > 0)), np.float32)

    def to_state(self) -> dict[str, Any]:
        """Return everything as arrays."""
        return {"table": self.table.cpu().numpy(), "residual": self.residual.get_state()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], activation: str, nu: float, device: torch.device) -> Encoder:
        """Return the encoder that `to_state` described."""
        table = torch.from_numpy(state["table"].astype(np.float32, copy=False)).to(device)
        encoder = (
            FrozenEncoder(table, activation, nu, state["identity"])
            if "identity" in state
            else cls(table, activation, nu)
        )
        encoder.residual.set_state(state["residual"])
        return encoder


class FrozenEncoder(Encoder):
    """A sentence encoder gave f: the last columns of a row are the embedding of its text. There are no tokens."""

    def __init__(self, table: torch.Tensor, activation: str, nu: float, identity: str) -> None:
        super().__init__(table, activation, nu)  # a table of no rows, which knows the width
        self.identity = identity

    @torch.no_grad()
    def encode(self, X: sparse.csr_array) -> np.ndarray:
        """Return f of every row of `X` (n, n_tokens + width), as (n, dimension) float32; zero for an empty text."""
        done = np.empty((X.shape[0], self.dimension), np.float32)
        first = X.shape[1] - self.table.shape[1]
        for start in range(0, X.shape[0], ROWS_PER_BLOCK):
            given = X[start : start + ROWS_PER_BLOCK][:, first:].toarray()
            (rows,) = send_arrays(self.device, given)
            done[start : start + ROWS_PER_BLOCK] = normalise(raise_precision(rows), self.nu).float().cpu()
            done[start : start + ROWS_PER_BLOCK][~given.any(axis=1)] = 0
        return done

    def to_state(self) -> dict[str, Any]:
        """Return everything as arrays, and whose embeddings they belong to."""
        return super().to_state() | {"identity": self.identity}
