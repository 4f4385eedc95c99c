"""Backbones: what turns a document into the features F that all heads share.

- text       a bag of word embeddings, Σ_t x_t E_t + b, then ReLU and, if wanted, further residual ReLU layers;
             rows x have length 1 unless told otherwise
- dense      the same over dense features: a linear map instead of the embeddings
- image      two convolutions with ReLU and pooling, then a linear layer, for `Features.image_shape`
- sentence   `dense` over the output of a frozen sentence encoder (see `encoders`)

Every layer is linear or a ReLU or a maximum. Such a network is linear around each document: w·F(x) = Σ_t c_t + bias
with c_t = x_t ∂(w·F)/∂x_t. That makes the contribution of a word, a pixel or a feature exact, and
`attribute_to_entries` returns it.

Dropout draws its masks from the generator it is given, so that an epoch repeats to the last bit.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import torch
from scipy import sparse
from torch import nn
from torch.nn import functional as F

from xcwork.compute.transfer import send_arrays
from xcwork.core.features import Features
from xcwork.errors import ConfigError, DataError
from xcwork.methods.multihead.row_table import RowBags, RowTable
from xcwork.sparse import normalise_rows

BACKBONES = ("auto", "text", "dense", "image", "sentence")
MAX_DENSE_FEATURES = 4096  # for which `auto` takes the dense backbone
MIN_DENSE_SHARE = 0.25  # of non-zeros, from which on it does
CHANNELS_PER_CONVOLUTION = (16, 32)
WORD_STANDARD_DEVIATION = 0.1  # of the first embeddings


def choose_backbone(name: str, X: sparse.csr_array, features: Features) -> str:
    """Return the backbone that `name` stands for with this data."""
    if name == "image" and features.image_shape is None:
        raise ConfigError("backbone image needs images, and this dataset has none; use text or dense")
    if name != "auto":
        return name
    if features.image_shape is not None and min(read_image_shape(features.image_shape)[1:]) >= 8:
        return "image"
    share = X.nnz / max(1, X.shape[0] * X.shape[1])
    return "dense" if share > MIN_DENSE_SHARE and X.shape[1] <= MAX_DENSE_FEATURES else "text"


class SeededDropout(nn.Module):
    """Dropout with masks from a generator that it is given."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.generator: torch.Generator | None = None

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        if not self.training or self.share == 0:
            return values
        keep = torch.rand(values.shape, generator=self.generator) >= self.share
        return values * (send_arrays(values.device, keep.numpy())[0] / (1 - self.share))


class Backbone(nn.Module):
    """Sparse rows in, features (n, width) out."""

    def __init__(self, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.width = width
        self.hidden = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])
        self.dropout = SeededDropout(dropout)

    def initialise(self) -> None:
        """Give tables their first values; torch has done so for everything else."""

    def prepare(self, X: sparse.csr_array, device: torch.device) -> RowBags | torch.Tensor:
        """Return the rows as tensors on the device."""
        return send_arrays(device, X.toarray().astype(np.float32, copy=False))[0]

    def run_first_layer(self, inputs: RowBags | torch.Tensor) -> torch.Tensor:
        """Return the output of the first layer, before its ReLU, (n, width)."""
        raise NotImplementedError

    def forward(self, inputs: RowBags | torch.Tensor) -> torch.Tensor:
        features = self.dropout(F.relu(self.run_first_layer(inputs)))
        for layer in self.hidden:
            features = self.dropout(features + F.relu(layer(features)))
        return features


class TextBackbone(Backbone):
    """Bag of word embeddings."""

    def __init__(self, n_features: int, width: int, layers: int, dropout: float, has_unit_rows: bool) -> None:
        super().__init__(width, layers, dropout)
        self.has_unit_rows = has_unit_rows
        self.words = RowTable(n_features, width, has_common_scale=True)
        self.bias = nn.Parameter(torch.zeros(width))

    def initialise(self) -> None:
        self.words.weight.normal_(std=WORD_STANDARD_DEVIATION)

    def prepare(self, X: sparse.csr_array, device: torch.device) -> RowBags:
        return RowBags.from_matrix(normalise_rows(X) if self.has_unit_rows else X, device)

    def run_first_layer(self, inputs: RowBags | torch.Tensor) -> torch.Tensor:
        assert isinstance(inputs, RowBags)
        return self.words.sum_bags(inputs) + self.bias


class DenseBackbone(Backbone):
    """Multi-layer perceptron over dense features."""

    def __init__(self, n_features: int, width: int, layers: int, dropout: float) -> None:
        super().__init__(width, layers, dropout)
        self.linear = nn.Linear(n_features, width)

    def run_first_layer(self, inputs: RowBags | torch.Tensor) -> torch.Tensor:
        assert isinstance(inputs, torch.Tensor)
        return self.linear(inputs.to(self.linear.weight.dtype))


class ImageBackbone(Backbone):
    """Small convolutional net."""

    def __init__(self, shape: tuple[int, ...], width: int, layers: int, dropout: float) -> None:
        super().__init__(width, layers, dropout)
        self.shape = read_image_shape(shape)
        self.has_channels_last = len(shape) == 3 and shape[-1] <= 4
        channels, height, breadth = self.shape
        self.convolutions = nn.ModuleList(
            [
                nn.Conv2d(before, after, 3, padding=1)
                for before, after in pairwise((channels, *CHANNELS_PER_CONVOLUTION))
            ]
        )
        for _ in CHANNELS_PER_CONVOLUTION:
            height, breadth = height // 2, breadth // 2
        self.linear = nn.Linear(CHANNELS_PER_CONVOLUTION[-1] * height * breadth, width)

    def run_first_layer(self, inputs: RowBags | torch.Tensor) -> torch.Tensor:
        assert isinstance(inputs, torch.Tensor)
        channels, height, breadth = self.shape
        inputs = inputs.to(self.linear.weight.dtype)
        if self.has_channels_last:
            images = inputs.view(-1, height, breadth, channels).permute(0, 3, 1, 2)
        else:
            images = inputs.view(-1, channels, height, breadth)
        for convolution in self.convolutions:
            images = F.max_pool2d(F.relu(convolution(images)), 2)
        return self.linear(images.flatten(1))


def read_image_shape(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return the channels, height and breadth of an image."""
    if len(shape) == 2:
        return 1, *shape
    if len(shape) == 3:
        return (shape[2], shape[0], shape[1]) if shape[-1] <= 4 else shape
    raise DataError(f"images of shape {shape} cannot be read", remedy="give (height, width) or three dimensions")


def make_backbone(
    name: str,
    features: Features,
    n_features: int,
    *,
    width: int,
    layers: int,
    dropout: float,
    has_unit_rows: bool = True,
) -> Backbone:
    """Return the backbone called `name`, with random weights from torch's generator."""
    if name == "image":
        if features.image_shape is None or math.prod(features.image_shape) != n_features:
            raise DataError("these documents are not images of the shape that the model was trained on")
        return ImageBackbone(features.image_shape, width, layers, dropout)
    if name == "text":
        return TextBackbone(n_features, width, layers, dropout, has_unit_rows)
    return DenseBackbone(n_features, width, layers, dropout)


def attribute_to_entries(
    backbone: Backbone, x: sparse.csr_array, directions: torch.Tensor
) -> tuple[np.ndarray, np.ndarray]:
    """Return what the entries of the one document `x` contribute to w·F(x), for every row w of `directions` (n, width).

    These are (n_entries, n) contributions and (n,) biases; their sum is w·F(x).
    """
    inputs = backbone.prepare(x, directions.device)
    is_bag = isinstance(inputs, RowBags)
    values = (inputs.values if isinstance(inputs, RowBags) else inputs).requires_grad_()
    entries = values.detach().cpu().double().numpy() if is_bag else x.data  # of a bag as the backbone scales them
    outputs = directions @ backbone(inputs)[0]  # (n,)
    slopes = [
        torch.autograd.grad(output, values, retain_graph=True, allow_unused=True)[0] if output.requires_grad else None
        for output in outputs
    ]
    parts = np.zeros((x.nnz, len(outputs)))
    for at, slope in enumerate(slopes):
        if slope is not None:
            by_entry = slope if is_bag else slope[0, send_arrays(slope.device, x.indices.astype(np.int64))[0]]
            parts[:, at] = entries * by_entry.cpu().double().numpy()
    return parts, outputs.detach().cpu().double().numpy() - parts.sum(axis=0)
