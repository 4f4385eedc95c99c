"""Training a network: steps of gradient descent, a learning rate that falls, and the average of the last epochs.

Dense parameters take steps of AdamW, tables those of `xcwork.kernels.row_sgd` on the rows in use; all learning rates
fall linearly to zero. What is random in an epoch follows from the seed and its number.

Stochastic weight averaging: from a given epoch on the weights at the end of epochs are averaged, and the average is
what is validated, kept and used, while training goes on from the latest weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from scipy import sparse
from torch import nn

from xcwork.compute.device_memory import FittingBatch
from xcwork.compute.precision import MixedPrecision
from xcwork.core.held_out import keep_groups_whole
from xcwork.core.split import Split
from xcwork.data.groups import find_groups_sharing_labels
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.epochs import Curve, train_epochs
from xcwork.methods.model import Params
from xcwork.methods.multihead.backbones import SeededDropout
from xcwork.methods.multihead.heads import BatchTargets
from xcwork.methods.multihead.network import Network
from xcwork.methods.multihead.prediction import find_allowed_codes, rank_labels
from xcwork.metrics.ranking import compute_curves, place_labels
from xcwork.storage.mapped_arrays import release_pages

MIN_BATCH_SIZE = 8
MATRIX_DIMENSIONS = 2  # from which on weight decay applies to a parameter


@dataclass(frozen=True)
class Schedule:
    """How a network is trained."""

    epochs: int
    batch_size: int
    learning_rate: float
    word_learning_rate: float
    label_learning_rate: float
    weight_decay: float
    swa: int  # epochs at the end that are averaged
    seed: int
    precision: str = "float32"

    @classmethod
    def from_params(cls, params: Params, n_documents: int) -> Self:
        """Return what the parameters mean for this many documents: a small split still gives several steps."""
        batch_size = min(params.batch_size, max(MIN_BATCH_SIZE, n_documents // 4))
        epochs = max(params.epochs, -(-params.min_steps // -(-n_documents // batch_size)))
        return cls(
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=params.learning_rate,
            word_learning_rate=params.word_learning_rate,
            label_learning_rate=params.label_learning_rate,
            weight_decay=params.weight_decay,
            swa=min(params.swa, epochs),
            precision=params.precision,
            seed=params.seed,
        )


class TrainingRows(NamedTuple):
    """The rows of a split to learn from, and those to choose the best epoch with."""

    learned: np.ndarray
    validation: np.ndarray

    @classmethod
    def from_split(cls, train: Split, share: float, seed: int) -> Self:
        """Hold out a `share` of the documents, whole groups where their members share labels."""
        if share == 0:
            return cls(np.arange(len(train)), np.arange(0))
        order = np.random.default_rng((seed, 5)).permutation(len(train))
        n_held = min(max(1, round(share * len(train))), len(train) - 1)
        held = keep_groups_whole(order[:n_held], find_groups_sharing_labels(train))
        return cls(np.setdiff1d(order, held), np.sort(held))


def train_network(
    make_network: Callable[[], Network],
    X: sparse.csr_array,
    train: Split,
    label_of_code: np.ndarray,
    params: Params,
    device: torch.device,
    progress: TrainingProgress,
) -> tuple[Curve, dict[str, np.ndarray]]:
    """Return the curve and the weights of a new network that learns `train`, whose documents it reads as `X`.

    The weights are their average, if there is one; where ranks share the labels, the first has all of them.
    """
    rows = TrainingRows.from_split(train, params.validation, params.seed)
    learns_all = len(rows.validation) == 0
    Y = train.Y if learns_all else train.Y[rows.learned]
    if not np.array_equal(label_of_code, np.arange(len(label_of_code))):
        Y = sparse.csr_array(Y[:, label_of_code])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(params.seed)
        network = make_network()
        network.initialise(Y)
    network.to(device)
    X_validation = X[rows.validation]
    Y_validation = train.Y[rows.validation]

    def validate() -> dict[str, float]:
        """Return the mean of P@1 to P@5 on held-out documents, and P@1."""
        if learns_all:
            return {}
        network.eval()
        is_allowed = find_allowed_codes(train.label_frequencies, label_of_code)
        found = rank_labels(network, X_validation, min(5, train.n_labels), label_of_code, is_allowed)
        precision = compute_curves(place_labels(found, Y_validation))["P"]
        network.train()
        return {"validation P": float(np.mean(precision)), "validation P@1": precision[0]}

    schedule = Schedule.from_params(params, len(rows.learned))
    trainer = NetworkTrainer(network, X if learns_all else X[rows.learned], Y, schedule, validate)
    curve = train_epochs(trainer, "training", progress, epochs=schedule.epochs, patience=params.patience)
    return curve, trainer.get_weights()


class NetworkTrainer:
    """Steps of one network over the documents of one split; a `xcwork.methods.common.epochs.EpochTrainer`."""

    def __init__(
        self,
        network: Network,
        X: sparse.csr_array,
        Y: sparse.csr_array,
        schedule: Schedule,
        validate: Callable[[], dict[str, float]],
    ) -> None:
        self.network = network
        self.X = X
        self.Y = Y
        self.schedule = schedule
        self.validate = validate
        self.steps = -(-X.shape[0] // schedule.batch_size)
        self.average: dict[str, np.ndarray] | None = None
        self.n_averaged = 0
        self.epoch = 0
        matrices = [p for p in network.parameters() if p.dim() >= MATRIX_DIMENSIONS]
        others = [p for p in network.parameters() if p.dim() < MATRIX_DIMENSIONS]
        groups = [{"params": matrices, "weight_decay": schedule.weight_decay}, {"params": others, "weight_decay": 0}]
        self.optimiser = torch.optim.AdamW(groups, lr=schedule.learning_rate)
        pairs = -(-Y.nnz * schedule.batch_size // max(1, Y.shape[0]))
        product = network.heads.find_product(schedule.batch_size, pairs)
        self.precision = MixedPrecision(schedule.precision, network.device, product)
        self.batch = FittingBatch(
            schedule.batch_size, self._estimate_bytes, network.device, can_halve=network.heads.shard is None
        )

    @property
    def parameters(self) -> list[nn.Parameter]:
        """The parameters of the optimiser, in its order."""
        return [parameter for group in self.optimiser.param_groups for parameter in group["params"]]

    def begin(self, epoch: int) -> None:
        self.epoch = epoch
        self.rng = np.random.default_rng((self.schedule.seed, 3, epoch))
        self.order = self.rng.permutation(self.X.shape[0])
        generator = torch.Generator().manual_seed(int(self.rng.integers(2**62)))
        for module in self.network.modules():
            if isinstance(module, SeededDropout):
                module.generator = generator
        if self.network.heads.shard is not None:
            for value in self.network.backbone.state_dict().values():
                self.network.heads.shard.group.copy_from_first(value)
        self.network.train()

    def step(self, number: int) -> float | torch.Tensor:
        size = self.schedule.batch_size
        rows = self.order[number * size : (number + 1) * size]
        left = 1 - (self.epoch * self.steps + number) / (self.schedule.epochs * self.steps)
        for group in self.optimiser.param_groups:
            group["lr"] = self.schedule.learning_rate * left
        loss = self.batch.run(rows, partial(self._learn, left=left))
        if number == self.steps - 1 and self.epoch >= self.schedule.epochs - self.schedule.swa:
            self._update_average()
        return loss

    def _learn(self, rows: np.ndarray, left: float) -> torch.Tensor:
        """Take a step on some documents, with this share of the learning rates; return its loss."""
        self.optimiser.zero_grad()
        for table in self.network.tables:
            table.forget_uses()
        with self.precision.lower():
            loss = self.network.compute_loss(self.X[rows], BatchTargets(self.Y[rows], self.rng))
        release_pages(self.X)
        self.precision.scale(loss).backward()
        gradients = [parameter.grad for parameter in self.parameters]
        if self.precision.unscale([*gradients, *(g for table in self.network.tables for g in table.gradients)]):
            self.optimiser.step()
            for table in self.network.tables:
                is_words = table.has_common_scale
                rate = self.schedule.word_learning_rate if is_words else self.schedule.label_learning_rate
                table.descend(rate * left)
        return loss.detach()

    def _estimate_bytes(self, n_documents: int) -> int:
        """Return about how many bytes a step with so many documents takes on a device."""
        entries, pairs = (-(-part.nnz * n_documents // max(1, part.shape[0])) for part in (self.X, self.Y))
        learned = 4 * sum(parameter.numel() for parameter in self.parameters)  # with gradients and two moments
        tables = sum(table.weight.numel() + len(table.weight) for table in self.network.tables)
        features = n_documents * self.network.backbone.width * (6 + 4 * len(self.network.backbone.hidden))
        words = entries * (3 * self.network.backbone.width + 8)
        return 4 * (learned + tables + features + words + self.network.heads.count_training_floats(n_documents, pairs))

    def measure(self) -> dict[str, float]:
        if self.average is None:
            return self.validate()
        latest = copy_weights(self.network.get_weights())
        self._write_weights(self.average)
        values = self.validate()
        self._write_weights(latest)
        return values

    def get_weights(self) -> dict[str, Any]:
        return self.network.gather_rows(
            copy_weights(self.network.get_weights() if self.average is None else self.average)
        )

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        self._write_weights(weights)
        self.average = None
        self.n_averaged = 0

    def get_momentum(self) -> dict[str, Any]:
        moments = []
        for parameter in self.parameters:
            shard = self.network.find_shard(parameter)
            state = self.optimiser.state[parameter]
            arrays = {name: value.cpu().numpy().copy() for name, value in state.items() if value.dim()}
            if shard is not None:
                arrays = {name: shard.gather_whole(value) for name, value in arrays.items()}
            moments.append({name: float(value) for name, value in state.items() if not value.dim()} | arrays)
        tables = []
        for table in self.network.tables:
            squares = table.squares.cpu().numpy().copy()
            shard = self.network.find_shard(table.weight)
            squares = squares if shard is None else shard.gather_whole(squares)
            tables.append({"squares": squares, "usual": float(table.usual)})
        momentum: dict[str, Any] = {"moments": moments, "tables": tables}
        if self.average is not None:
            latest = self.network.gather_rows(copy_weights(self.network.get_weights()))
            momentum |= {"averaged": self.n_averaged, "latest": latest}
        return momentum

    def set_momentum(self, momentum: Mapping[str, Any]) -> None:
        if "latest" in momentum:  # what `set_weights` was given is the average then
            self.n_averaged = momentum["averaged"]
            self.average = copy_weights(self.network.get_weights())
            self._write_weights(momentum["latest"])
        for parameter, moments in zip(self.parameters, momentum["moments"], strict=True):
            shard = self.network.find_shard(parameter)
            if shard is not None:
                moments = {name: shard.take_mine(value) if np.ndim(value) else value for name, value in moments.items()}
            self.optimiser.state[parameter] = {
                name: torch.as_tensor(value, device=parameter.device if np.ndim(value) else "cpu")
                for name, value in moments.items()
            }
        for table, known in zip(self.network.tables, momentum["tables"], strict=True):
            shard = self.network.find_shard(table.weight)
            squares = known["squares"] if shard is None else shard.take_mine(known["squares"])
            table.squares.copy_(torch.from_numpy(squares))
            table.usual.fill_(known["usual"])

    def _update_average(self) -> None:
        """Include the latest weights in the average."""
        self.n_averaged += 1
        latest = self.network.get_weights()
        if self.average is None:
            self.average = copy_weights(latest)
        for name, mean in self.average.items():
            mean += (latest[name] - mean) / self.n_averaged

    def _write_weights(self, weights: Mapping[str, Any]) -> None:
        """Write over the numbers of the network, whose tensors the optimiser knows."""
        own = self.network.take_own_rows(weights)
        with torch.no_grad():
            for name, value in self.network.state_dict().items():
                value.copy_(torch.from_numpy(np.asarray(own[name])))


def copy_weights(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the same arrays in memory of their own."""
    return {name: np.array(value) for name, value in weights.items()}
