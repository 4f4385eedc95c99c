"""One-vs-all: every label gets a linear classifier that tells its documents from all others.

    s(x, l) = w_l · x / ‖x‖ + b_l

with (w_l, b_l) the L2-regularised support vector machine with squared hinge loss of `xcwork.kernels.svm`. All
documents without the label are negatives and none is sampled away, which is why this is the accurate and costly
reference that faster methods approximate. Weights too small to matter are dropped afterwards, as in DiSMEC.

What keeps it affordable:

- Most documents are far from the few positives of a label, so its solution is nearly that of a label that no document
  has: w ≈ 0, b ≈ -1. That one is computed once and every label starts from it; only documents near its positives move.
- Descent visits a working set; that it was enough is checked on all documents, for a block of labels together.
- Features are renumbered by frequency while training, so that the weights used most share the processor's cache.

The score is the margin itself, so a term contributes value * weight and the parts, with the bias, are exact. A label
without training documents has no classifier and is never predicted. Blocks of labels are independent and every label
has its own random numbers: the result does not depend on threads, on the size of a block, or on being interrupted.

Cost: O(rounds * nnz(X)) per label for the checks, which run at full speed, plus the descent on some thousand documents.
Memory: one block of labels, below about 256 MB, beside the data and the model.

Reference: Hsieh et al., A dual coordinate descent method for large-scale linear SVM, ICML 2008; Babbar and Schölkopf,
DiSMEC, WSDM 2017 (pruning); Fang et al., Speeding-up one-vs-all training for extreme classification via mean-separating
initialization, 2022 (starting points).
"""

from __future__ import annotations

from dataclasses import dataclass

from xcwork.core.data_sizes import DataSizes
from xcwork.core.split import Split
from xcwork.kernels.machine_sizes import estimate_shared_bytes
from xcwork.kernels.svm import MIN_TOLERANCE
from xcwork.methods.base import Capabilities, Method, Preset, device_param, param
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.common.one_vs_all_svm import SvmSettings, train_one_vs_all
from xcwork.methods.one_vs_all.model import OneVsAllModel


@dataclass(kw_only=True, eq=False)
class OneVsAll(Method):
    """One linear support vector machine per label, trained against all other documents."""

    C: float = param(1.0, "weight of the errors against the size of the weights", low=1e-4, high=1e4)
    tolerance: float = param(0.1, "largest violation of optimality that may remain", low=MIN_TOLERANCE, high=1.0)
    prune: float = param(0.03, "size below which weights are dropped", low=0.0)
    max_passes: int = param(
        30, "maximum number of rounds of descent and check per label", low=1, advanced=True, formerly="max_rounds"
    )
    device: str = device_param()

    title = "One-vs-all"
    paper = "Babbar and Schölkopf, DiSMEC, WSDM 2017"
    capabilities = Capabilities(
        exact_explanations=True, gpu=True, gpu_training="all classifiers", gpu_prediction="scores", resumable=True
    )
    model_type = OneVsAllModel
    presets = (Preset("quick", {"C": 0.1}),)

    def estimate_device_bytes(self, sizes: DataSizes) -> int:
        return estimate_shared_bytes(sizes.n_documents, sizes.n_features, sizes.n_entries, sizes.n_labels)

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> OneVsAllModel:
        settings = SvmSettings(self.C, self.tolerance, self.prune, self.max_passes, self.seed)
        weights, bias = train_one_vs_all(train, settings, checkpoint, self.device)
        return OneVsAllModel(**self._collect_facts(train), weights=weights, bias=bias)
