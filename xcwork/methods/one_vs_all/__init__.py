"""One-vs-all: every label gets a linear classifier that tells its documents from all others.

    s(x, l) = w_l · x / ‖x‖ + b_l

with (w_l, b_l) the L2-regularised support vector machine with squared hinge loss of `xcwork.kernels.svm`. All
documents without the label are negatives and none is sampled away, which is why this is the accurate and costly
reference that faster methods approximate. Weights too small to matter are dropped afterwards, as in DiSMEC.

What keeps it affordable:

- A label that no document carries has almost the same solution for all labels: w ≈ 0, b ≈ -1. It is computed once,
  and every label starts from it, so only the documents near its few positives have to move.
- Descent visits a working set; that it was enough is checked on all documents, for a block of labels at once.
- Features are renumbered by frequency while training, so that the weights used most share the processor's cache.

The score is the margin itself, so a term contributes value * weight and the parts, with the bias, are exact. A label
without training documents has no classifier and is never predicted. Blocks of labels are independent and every label
has its own random numbers: the result does not depend on threads, on the size of a block, or on being interrupted.

Cost: O(rounds * nnz(X)) a label for the checks, which run at full speed, plus the descent on some thousand documents.
Memory: one block of labels, below about 256 MB, beside the data and the model.

Reference: Hsieh et al., A dual coordinate descent method for large-scale linear SVM, ICML 2008; Babbar and Schölkopf,
DiSMEC, WSDM 2017 (pruning); Fang et al., Speeding-up one-vs-all training for extreme classification via mean-separating
initialization, 2022 (starting points).
"""

from xcwork.methods.one_vs_all.method import OneVsAll

__all__ = ["OneVsAll"]
