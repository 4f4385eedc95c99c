"""Flat: one weight vector per label over a neural backbone (one-hot encoding, OHE).

    z_l = w_l·F + b_l,      score = σ(z_l)  with binary cross-entropy,  softmax(z)_l  with cross-entropy

Every step computes the logits of all labels, so nothing is approximated: this is what short heads are compared with.

Bottleneck (equation 17 and figure 5c): z = W₂ W₁ F + b with W₁ of r rows, so that the weights of all labels together
have rank r.

Cost of a step with batch size B: O(B·L·d) and 3 L d numbers for the optimiser; O(L·d) per document in prediction.

Reference: Liang et al., TPAMI 2025.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from scipy.special import expit
from torch import nn
from torch.nn import functional as F

from xcwork.compute.precision import Product, widen
from xcwork.compute.transfer import send_arrays
from xcwork.core.topk import TopK
from xcwork.methods.multihead.codes import Lengths
from xcwork.methods.multihead.heads import (
    BatchTargets,
    Factor,
    Heads,
    append_one,
    compute_binary_loss,
    compute_first_biases,
    count_documents,
    find_slots,
    initialise_labels,
    sort_slots,
)
from xcwork.methods.multihead.row_table import RowTable
from xcwork.search import top_k_rows

ARC_SCALE = 64.0  # s of ArcFace, by which cosines are multiplied


class FlatHeads(Heads):
    """One logit per label."""

    def __init__(self, width: int, n_labels: int, loss: str, bottleneck: int | None = None) -> None:
        super().__init__()
        self.n_labels = n_labels
        self.kind = loss
        self.narrow = None if bottleneck is None else nn.Linear(width, bottleneck, bias=False)
        self.labels = RowTable(n_labels, (width if bottleneck is None else bottleneck) + 1)

    def initialise(self, Y: sparse.csr_array) -> None:
        initialise_labels(self.labels, compute_first_biases(count_documents(Y), Y.shape[0], self.kind))

    def compute_logits(self, features: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Return the logits of the labels with the weights `rows`."""
        narrow = features if self.narrow is None else self.narrow(features)
        return append_one(narrow).to(rows.dtype) @ rows.T

    def compute_loss(self, features: torch.Tensor, targets: BatchTargets) -> torch.Tensor:
        documents, codes = targets.positives
        return self._compute_logit_loss(self.compute_logits(features, self.labels.take_rows()), documents, codes)

    def _compute_logit_loss(self, logits: torch.Tensor, documents: np.ndarray, columns: np.ndarray) -> torch.Tensor:
        """Return the loss of logits whose positive entries are at (documents, columns)."""
        if self.kind == "bce":
            return compute_binary_loss(logits, documents, columns)
        if len(documents) < len(logits):  # a document without a label teaches nothing here
            logits = logits[send_arrays(logits.device, documents)[0]]
        return F.cross_entropy(widen(logits), send_arrays(logits.device, columns)[0])

    def compute_log_probabilities(self, features: torch.Tensor) -> torch.Tensor:
        """Return the log-probability of every code, (n, n_labels)."""
        logits = self.compute_logits(features, self.labels.take_rows())
        return F.logsigmoid(logits) if self.kind == "bce" else F.log_softmax(logits, dim=1)

    def rank(self, features: torch.Tensor, k: int, allowed: np.ndarray, label_of: np.ndarray) -> TopK:
        logits = self.compute_logits(features, self.labels.take_rows())
        # Rank first: most labels never need their probability.
        total = 0.0 if self.kind == "bce" else logits.logsumexp(1, keepdim=True).cpu().numpy()
        scores = logits.float().cpu().numpy()
        if not allowed.all():
            scores[:, ~allowed] = -np.inf
        if not np.array_equal(label_of, np.arange(self.n_labels)):
            scores = scores[:, np.argsort(label_of)]
        found = top_k_rows(scores, k)
        return sort_slots(found.ids, expit(found.scores) if self.kind == "bce" else np.exp(found.scores - total))

    def take_apart(self, features: torch.Tensor, code: int) -> list[Factor]:
        row = self.labels.take_rows(np.array([code]))[0]
        log_probability = float(self.compute_log_probabilities(features)[0, code])
        direction = row[:-1] if self.narrow is None else row[:-1] @ self.narrow.weight
        return [Factor("classifier", direction, float(row[-1]), log_probability)]

    def read_embeddings(self) -> torch.Tensor:
        return self.labels.weight[:, :-1]

    def count_training_floats(self, n_documents: int, n_pairs: int) -> int:
        """Count logits and their gradients, the gradients of the labels' weights, and the places of positives."""
        n_rows, width, n_labels = self.find_product(n_documents, n_pairs)
        return 4 * n_rows * n_labels + 3 * n_labels * width + 4 * n_pairs

    def find_product(self, n_documents: int, n_pairs: int) -> Product:
        return n_documents, self.labels.weight.shape[1], self.n_labels

    def count_floats_per_document(self) -> int:
        return 3 * self.n_labels


class SampledHeads(FlatHeads):
    """MHS: the flat classifier, trained on a few heads of labels per step.

        z_l = w_l·F + b_l  for the labels l of the heads in use,      score as for the flat classifier

    MHS cuts W into G heads of e labels and computes only S of them for a label. Prediction uses all of W.

    - `sampling=batch` (FastSampling): the heads U of the labels in the batch, and S - 1 random ones; one product with
      W[U] for the whole batch. The column of a label is place_in_U · e + local.
    - `sampling=document`: the head of each label, and S - 1 others drawn for it alone; a softmax over S · e logits.

    With S = 1 a document meets the labels of its own head only, so scores of different heads are never compared in
    training and are not comparable in prediction; S ≥ 2 or `batch` repairs that.

    ArcFace (`margin`): z_l = s cos θ_l, with cos(θ_l + m) for the right label, which pulls the labels apart.

    Cost of a step with batch size B: O(B·min(B, G)·e·d), and only those rows of W are touched. Model size and
    prediction are those of the flat classifier.

    Differences from the paper: the index of FastSampling multiplies by the length of a head (algorithm 4 multiplies by
    the number of the head); the head of a label is prepended to the drawn ones instead of overwriting one, so S may be
    G; a document with several labels is several rows in `document`, with binary cross-entropy instead of the softmax.

    Reference: Liang et al., TPAMI 2025, section 4.3; Deng et al., ArcFace, CVPR 2019.
    """

    def __init__(
        self, width: int, n_labels: int, loss: str, *, lengths: Lengths, sampled: int, sampling: str, margin: float
    ) -> None:
        super().__init__(width, n_labels, loss)
        self.n_heads, self.length = lengths
        self.sampled = sampled
        self.sampling = sampling
        self.margin = margin

    def find_product(self, n_documents: int, n_pairs: int) -> Product:
        by_pair = self.sampling == "document"
        n_labels = min(self.n_labels, (n_pairs * (self.sampled if by_pair else 1) + self.sampled - 1) * self.length)
        return n_pairs if by_pair else n_documents, self.labels.weight.shape[1], n_labels

    def compute_logits(self, features: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        if self.margin == 0:
            return super().compute_logits(features, rows)
        return ARC_SCALE * F.normalize(features, dim=1).to(rows.dtype) @ F.normalize(rows[:, :-1], dim=1).T

    def compute_loss(self, features: torch.Tensor, targets: BatchTargets) -> torch.Tensor:
        documents, codes = targets.positives
        if len(codes) == 0:
            return features.sum() * 0.0
        if self.sampling == "document":
            return self._compute_document_loss(features, targets)
        extra = targets.rng.integers(self.n_heads, size=self.sampled - 1)
        rows, columns = choose_batch_heads(codes, extra, self.length, self.n_labels)
        logits = self.compute_logits(features, self.labels.take_rows(rows))
        return self._compute_logit_loss(self._widen_angles(logits, documents, columns), documents, columns)

    def _compute_document_loss(self, features: torch.Tensor, targets: BatchTargets) -> torch.Tensor:
        """Return the loss where every (document, label) pair meets its own head and S - 1 others."""
        documents, codes = targets.positives
        heads = draw_heads(codes // self.length, self.n_heads, self.sampled, targets.rng)  # (n_pairs, S)
        candidates = (heads[:, :, None] * self.length + np.arange(self.length)).reshape(len(codes), -1)
        is_label = candidates < self.n_labels
        rows, place = np.unique(np.where(is_label, candidates, 0), return_inverse=True)
        pair_of, at, is_gap = send_arrays(features.device, documents, place.reshape(candidates.shape), ~is_label)
        logits = self.compute_logits(features[pair_of], self.labels.take_rows(rows)).gather(1, at)
        logits = logits.masked_fill(is_gap, -torch.inf)
        if self.kind == "ce":
            pair = np.arange(len(codes))
            column = codes % self.length
        else:  # the other labels of the document may lie in the drawn heads too
            pair, relevant = BatchTargets(targets.Y[documents], targets.rng).positives
            slot = find_slots(heads, pair, relevant // self.length)
            is_drawn = slot >= 0
            pair = pair[is_drawn]
            column = (slot * self.length + relevant % self.length)[is_drawn]
        return self._compute_logit_loss(self._widen_angles(logits, pair, column), pair, column)

    def _widen_angles(self, logits: torch.Tensor, documents: np.ndarray, columns: np.ndarray) -> torch.Tensor:
        """Return logits in which the angle of the right label has grown by the margin (ArcFace)."""
        if self.margin == 0:
            return logits
        at = tuple(send_arrays(logits.device, documents, columns))
        angle = torch.acos((logits[at] / ARC_SCALE).clamp(-1 + 1e-6, 1 - 1e-6))
        widened = ARC_SCALE * torch.cos((angle + self.margin).clamp(max=torch.pi))
        return logits.index_put(at, widened.to(logits.dtype))

    def take_apart(self, features: torch.Tensor, code: int) -> list[Factor]:
        if self.margin == 0:
            return super().take_apart(features, code)
        # Around the document its length is a constant, and so is the length of the label's weights.
        weights = F.normalize(self.labels.take_rows(np.array([code]))[0, :-1], dim=0)
        direction = ARC_SCALE * weights / features.norm().clamp(min=1e-12)
        return [Factor("classifier", direction, 0.0, float(self.compute_log_probabilities(features)[0, code]))]


def choose_batch_heads(
    codes: np.ndarray, extra: np.ndarray, length: int, n_labels: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of W of the heads in use and the column of every code among them (FastSampling)."""
    heads = np.union1d(codes // length, extra)
    rows = (heads[:, None] * length + np.arange(length)).ravel()
    columns = np.searchsorted(heads, codes // length) * length + codes % length
    return rows[rows < n_labels], columns  # only the last head can be short, and it comes last


def draw_heads(own: np.ndarray, n_heads: int, sampled: int, rng: np.random.Generator) -> np.ndarray:
    """Return each entry of `own` and then distinct other heads, (n, sampled)."""
    others = rng.random((len(own), n_heads - 1)).argsort(axis=1)[:, : sampled - 1]  # numbered without the own head
    return np.column_stack([own, others + (others >= own[:, None])])
