"""Backbone and heads as one network, and how its weights are read and set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch
from scipy import sparse
from torch import nn

from xcwork.compute.ranks import Shard
from xcwork.methods.multihead.backbones import Backbone
from xcwork.methods.multihead.heads import BatchTargets, Heads
from xcwork.methods.multihead.row_table import RowTable

MIN_ROWS_PER_PRODUCT = 16  # a product of fewer rows takes another path, whose last bits differ


class Network(nn.Module):
    """From sparse rows to labels."""

    def __init__(self, backbone: Backbone, heads: Heads) -> None:
        super().__init__()
        self.backbone = backbone
        self.heads = heads

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def tables(self) -> list[RowTable]:
        return [module for module in self.modules() if isinstance(module, RowTable)]

    @torch.no_grad()
    def initialise(self, Y: sparse.csr_array) -> None:
        """Set the first values, from torch's generator and the label frequencies of `Y`."""
        self.backbone.initialise()
        self.heads.initialise(Y)

    def compute_loss(self, X: sparse.csr_array, targets: BatchTargets) -> torch.Tensor:
        """Return the loss of a batch."""
        return self.heads.compute_loss(self.backbone(self.backbone.prepare(X, self.device)), targets)

    @torch.no_grad()
    def read(self, X: sparse.csr_array) -> torch.Tensor:
        """Return the features of documents, (n, width); a few rows are filled up with empty ones.

        So a document has the same features alone and in a batch.
        """
        missing = MIN_ROWS_PER_PRODUCT - X.shape[0]
        if missing > 0:
            X = sparse.csr_array(sparse.vstack([X, sparse.csr_array((missing, X.shape[1]), dtype=X.dtype)]))
        return self.backbone(self.backbone.prepare(X, self.device))

    def make_precise(self) -> Self:
        """Answer in double precision where it is cheap, so that rounding does not depend on a document's neighbours."""
        if self.device.type == "cpu":
            for parameter in self.parameters():
                parameter.data = parameter.data.double()
            for table in self.tables:
                table.is_precise = True
        return self

    def get_weights(self) -> dict[str, np.ndarray]:
        """Return everything learned, sharing memory where it can."""
        return {name: value.detach().cpu().numpy() for name, value in self.state_dict().items()}

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Use the arrays that `get_weights` returned."""
        device = self.device
        tensors = {name: torch.from_numpy(np.asarray(value)) for name, value in self.take_own_rows(weights).items()}
        self.load_state_dict(tensors, assign=True)
        self.to(device).requires_grad_()

    def take_own_rows(self, weights: Mapping[str, Any]) -> dict[str, Any]:
        """Return `weights` with the rows of this rank alone, where ranks share the labels."""
        shard = self.heads.shard
        if shard is None:
            return dict(weights)
        shared = self._list_shared_names()
        return {name: shard.take_mine(value) if name in shared else value for name, value in weights.items()}

    def gather_rows(self, weights: Mapping[str, Any]) -> dict[str, Any]:
        """Return `weights` with the rows of all ranks, on the first of them; a collective call."""
        shard = self.heads.shard
        if shard is None:
            return dict(weights)
        shared = self._list_shared_names()
        return {name: shard.gather_whole(value) if name in shared else value for name, value in weights.items()}

    def find_shard(self, tensor: torch.Tensor) -> Shard | None:
        """Return which rows of a tensor of this network the rank has; None where it has all."""
        named = self.state_dict(keep_vars=True)
        is_shared = any(named[name] is tensor for name in self._list_shared_names())
        return self.heads.shard if is_shared else None

    def _list_shared_names(self) -> set[str]:
        return {f"heads.{name}" for name in self.heads.shared_names}
