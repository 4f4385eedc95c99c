"""Backbone and heads as one network, its training, and how trained weights are kept.

The training is a `common.epochs.Trainer`. Dense parameters take steps of AdamW, tables those of `kernels.row_sgd`
on the rows in use; all rates fall linearly to zero. What is random in an epoch follows from the seed and its number.

Stochastic weight averaging: from a given epoch on the weights at the end of epochs are averaged, and the average is
what is validated, kept and used, while training goes on from the latest weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from scipy import sparse
from torch import nn

from xcwork.methods.multihead.backbones import Backbone, Dropout
from xcwork.methods.multihead.heads import Heads, Targets
from xcwork.methods.multihead.row_table import Table
from xcwork.storage.mapped_arrays import release

FEWEST_ROWS = 16  # a product of fewer rows takes another path, whose last bits differ
SHARED = "heads.labels.weight"  # the rows that ranks share
DECAYED = 2  # dimensions from which a parameter is a matrix that weight decay applies to


class Network(nn.Module):
    """From sparse rows to labels."""

    def __init__(self, backbone: Backbone, heads: Heads) -> None:
        super().__init__()
        self.backbone, self.heads = backbone, heads

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def tables(self) -> list[Table]:
        return [module for module in self.modules() if isinstance(module, Table)]

    @torch.no_grad()
    def initialise(self, Y: sparse.csr_array) -> None:
        """First values from torch's generator and the label frequencies of `Y`."""
        self.backbone.initialise()
        self.heads.initialise(Y)

    def loss(self, X: sparse.csr_array, targets: Targets) -> torch.Tensor:
        return self.heads.loss(self.backbone(self.backbone.inputs(X, self.device)), targets)

    @torch.no_grad()
    def features(self, X: sparse.csr_array) -> torch.Tensor:
        """(n, width), the same for a document alone and in a batch: a few rows are filled up with empty ones."""
        missing = FEWEST_ROWS - X.shape[0]
        if missing > 0:
            X = sparse.csr_array(sparse.vstack([X, sparse.csr_array((missing, X.shape[1]), dtype=X.dtype)]))
        return self.backbone(self.backbone.inputs(X, self.device))

    def precise(self) -> Self:
        """Answer in double precision where it is cheap, so that rounding does not depend on a document's neighbours."""
        if self.device.type == "cpu":
            for parameter in self.parameters():
                parameter.data = parameter.data.double()
            for table in self.tables:
                table.precise = True
        return self

    def weights(self) -> dict[str, np.ndarray]:
        """Everything learned, sharing memory where it can."""
        return {name: value.detach().cpu().numpy() for name, value in self.state_dict().items()}

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Take over what `weights` returned."""
        device = self.device
        tensors = {name: torch.from_numpy(np.asarray(value)) for name, value in self.mine(weights).items()}
        self.load_state_dict(tensors, assign=True)
        self.to(device).requires_grad_()

    def mine(self, weights: Mapping[str, Any]) -> dict[str, Any]:
        """`weights` with the rows of this rank alone, where ranks share the labels."""
        shard = self.heads.shard
        return {
            name: value if shard is None or name != SHARED else shard.mine(value) for name, value in weights.items()
        }

    def whole(self, weights: Mapping[str, Any]) -> dict[str, Any]:
        """`weights` with the rows of all ranks, on the first of them; a collective call."""
        shard = self.heads.shard
        return {
            name: value if shard is None or name != SHARED else shard.whole(value) for name, value in weights.items()
        }


@dataclass(frozen=True)
class Schedule:
    """How a network is trained."""

    epochs: int
    batch: int
    rate: float
    word_rate: float
    label_rate: float
    weight_decay: float
    swa: int  # epochs at the end that are averaged
    seed: int


class NetworkTraining:
    """Steps of one network over the documents of one split; a `xcwork.methods.common.epochs.Trainer`."""

    def __init__(
        self,
        network: Network,
        X: sparse.csr_array,
        Y: sparse.csr_array,
        schedule: Schedule,
        measure: Callable[[], dict[str, float]],
    ) -> None:
        self.network, self.X, self.Y, self.schedule, self._measure = network, X, Y, schedule, measure
        self.steps = -(-X.shape[0] // schedule.batch)
        self.average: dict[str, np.ndarray] | None = None
        self.averaged = 0
        self.epoch = 0
        matrices = [p for p in network.parameters() if p.dim() >= DECAYED]
        others = [p for p in network.parameters() if p.dim() < DECAYED]
        groups = [{"params": matrices, "weight_decay": schedule.weight_decay}, {"params": others, "weight_decay": 0}]
        self.optimiser = torch.optim.AdamW(groups, lr=schedule.rate)

    @property
    def _parameters(self) -> list[nn.Parameter]:
        """Of the optimiser, in its order."""
        return [parameter for group in self.optimiser.param_groups for parameter in group["params"]]

    def begin(self, epoch: int) -> None:
        self.epoch = epoch
        self.rng = np.random.default_rng((self.schedule.seed, 3, epoch))
        self.order = self.rng.permutation(self.X.shape[0])
        generator = torch.Generator().manual_seed(int(self.rng.integers(2**62)))
        for module in self.network.modules():
            if isinstance(module, Dropout):
                module.generator = generator
        if self.network.heads.shard is not None:
            for value in self.network.backbone.state_dict().values():
                self.network.heads.shard.group.copy_of_first(value)
        self.network.train()

    def step(self, number: int) -> float:
        rows = self.order[number * self.schedule.batch : (number + 1) * self.schedule.batch]
        left = 1 - (self.epoch * self.steps + number) / (self.schedule.epochs * self.steps)
        for group in self.optimiser.param_groups:
            group["lr"] = self.schedule.rate * left
        loss = self.network.loss(self.X[rows], Targets(self.Y[rows], self.rng))
        release(self.X)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        for table in self.network.tables:
            table.descend((self.schedule.word_rate if table.shared else self.schedule.label_rate) * left)
        if number == self.steps - 1 and self.epoch >= self.schedule.epochs - self.schedule.swa:
            self._take_into_average()
        return float(loss.detach())

    def measure(self) -> dict[str, float]:
        if self.average is None:
            return self._measure()
        latest = _copies(self.network.weights())
        self._put(self.average)
        values = self._measure()
        self._put(latest)
        return values

    def _take_into_average(self) -> None:
        self.averaged += 1
        latest = self.network.weights()
        if self.average is None:
            self.average = _copies(latest)
        for name, mean in self.average.items():
            mean += (latest[name] - mean) / self.averaged

    def weights(self) -> dict[str, Any]:
        return self.network.whole(_copies(self.network.weights() if self.average is None else self.average))

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        self._put(weights)
        self.average, self.averaged = None, 0

    def _put(self, weights: Mapping[str, Any]) -> None:
        mine = self.network.mine(weights)
        with torch.no_grad():
            for name, value in self.network.state_dict().items():
                value.copy_(torch.from_numpy(np.asarray(mine[name])))

    def momentum(self) -> dict[str, Any]:
        moments = [
            {name: value.cpu().numpy().copy() if value.dim() else float(value) for name, value in state.items()}
            for state in map(self.optimiser.state.get, self._parameters)
        ]
        tables = [
            {"squares": self._shard_of(table, "whole", table.squares.cpu().numpy().copy()), "usual": float(table.usual)}
            for table in self.network.tables
        ]
        state = {"moments": moments, "tables": tables}
        if self.average is not None:
            state |= {"averaged": self.averaged, "latest": self.network.whole(_copies(self.network.weights()))}
        return state

    def _shard_of(self, table: Table, part: str, rows: np.ndarray) -> np.ndarray:
        """The rows of all ranks (`whole`) or of this one (`mine`) of what belongs to `table`."""
        heads = self.network.heads
        shared = heads.shard is not None and table is heads.labels
        return getattr(heads.shard, part)(rows) if shared else rows

    def set_momentum(self, momentum: Mapping[str, Any]) -> None:
        if "latest" in momentum:  # what `set_weights` was given is the average then
            self.averaged, self.average = momentum["averaged"], _copies(self.network.weights())
            self._put(momentum["latest"])
        for parameter, moments in zip(self._parameters, momentum["moments"], strict=True):
            self.optimiser.state[parameter] = {
                name: torch.as_tensor(value, device=parameter.device if np.ndim(value) else "cpu")
                for name, value in moments.items()
            }
        for table, known in zip(self.network.tables, momentum["tables"], strict=True):
            table.squares.copy_(torch.from_numpy(self._shard_of(table, "mine", known["squares"])))
            table.usual.fill_(known["usual"])


def _copies(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.array(value) for name, value in weights.items()}
