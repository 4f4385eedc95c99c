"""Which labels become landmarks: those that say most about the others, repeat each other least and are learned best.

Labels are the nodes of a graph with weights W = (|Z| + |Z|ᵀ) / 2 from their affinities. A set S of landmarks is worth

    f(S) =   Σ w_ij over i ∉ S, j ∈ S             what the landmarks say about the other labels (a cut)
           - λ Σ w_ij over i, j ∈ S                what they say twice (the penalty; ordered pairs)
           + α_s Σ s_l over l ∈ S                  how well documents predict them (f_score)

and adding label k to S changes it by, with degree d_k = Σ_i w_ik and u_k = Σ over i ∈ S of w_ik,

    gain(k | S) = d_k - 2 (1 + λ) u_k + α_s s_k .

u_k only grows, so gains only fall: f is submodular. It is not monotone: gains that are not negative on the greedy path
alone promise nothing, since one landmark may take away what many others would have said. But where every one of n
landmarks k has

    d_k + α_s s_k ≥ 2 (1 + λ) · (the sum of the 2n - 1 largest w_ik) ,

no landmark lowers the worth of any set of fewer than 2n labels, hence f(best ∪ greedy) ≥ f(best), and the greedy set is
worth at least (1 - 1/e) ≈ 63 % of the best set of its size (Nemhauser et al., 1978). `LandmarkSelection.is_guaranteed`
says whether that is so. The greedy choice is *lazy*: a heap keeps the gains as they were last computed, which are upper
bounds, and only the top is refreshed.

Cost: O(nnz(W)) to start, then O(log L) per refreshed gain and one row of W per landmark; never more than O(k L).

s_l is the training R² of the predictor of label l, scaled to [0, largest degree] so that α_s = 1 weighs both parts
alike. R² is a share of a label's own variance: it does not know how frequent the label is, and on its own it prefers
rare labels that a few words give away.
"""

from __future__ import annotations

import heapq
import logging
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.methods.landmarks.affinity import Combination
from xcwork.methods.model import Params

log = logging.getLogger(__name__)

USES_AFFINITY = ("combined", "f_pen")
USES_SCORES = ("combined", "f_score")
STRATEGIES = ("combined", "f_pen", "f_score", "most_frequent", "ml_cssp", "random")


@dataclass(frozen=True)
class SelectionSettings:
    """How many landmarks are chosen, and how."""

    strategy: str  # one of STRATEGIES
    n_landmarks: int
    score_weight: float = 1.0  # α_s
    redundancy: float = 0.5  # λ
    fill: bool = True  # choose all landmarks even when a further one lowers f
    seed: int = 0

    @classmethod
    def from_params(cls, params: Params) -> SelectionSettings:
        return cls(params.selection, params.landmarks, params.score_weight, params.redundancy, params.fill, params.seed)


@dataclass(frozen=True, eq=False)
class LandmarkSelection:
    """The landmarks in the order they were chosen."""

    landmarks: np.ndarray  # (k,) label ids
    gains: np.ndarray  # (k,): what each added to f when it was chosen; zeros where no f was involved
    n_monotone: int  # landmarks before the first one that lowered f
    n_evaluations: int = 0  # gains that were computed after the start
    is_guaranteed: bool | None = None  # worth at least 1 - 1/e of the best set, for certain; None: no f was involved


def compute_graph_weights(affinity: Combination) -> sparse.csr_array:
    """Return W = (|Z| + |Z|ᵀ) / 2, symmetric with a zero diagonal, (n_labels, n_labels)."""
    size = abs(affinity.Z)
    return sparse.csr_array((size + size.T) / 2)


def scale_scores(r2: np.ndarray, eligible: np.ndarray, top: float) -> np.ndarray:
    """Return R² of the eligible labels stretched over [0, top]; 0 elsewhere."""
    scores = np.zeros_like(r2)
    low = r2[eligible].min(initial=np.inf)
    high = r2[eligible].max(initial=-np.inf)
    if high > low:
        scores[eligible] = (r2[eligible] - low) / (high - low) * top
    return scores


def compute_objective(W: sparse.csr_array, bonus: np.ndarray, chosen: np.ndarray, redundancy: float) -> float:
    """Return f(S), straight from its definition; `bonus` is α_s s."""
    inside = np.zeros(W.shape[0])
    inside[chosen] = 1.0
    within = float(inside @ (W @ inside))
    return float((1 - inside) @ (W @ inside)) - redundancy * within + float(bonus @ inside)


def choose_greedily(
    W: sparse.csr_array, bonus: np.ndarray, k: int, eligible: np.ndarray, *, redundancy: float, fill: bool = True
) -> LandmarkSelection:
    """Choose lazily the label with the largest gain, again and again; ties go to the smaller id.

    Without `fill` it stops when every gain is negative, even if fewer than k are chosen.
    """
    degrees = np.asarray(W.sum(axis=1), np.float64).ravel()
    said = np.zeros(W.shape[0])  # u: the weight between each label and the landmarks so far
    heap = [(-float(degrees[label] + bonus[label]), int(label)) for label in eligible]
    heapq.heapify(heap)
    landmarks: list[int] = []
    gains: list[float] = []
    n_evaluations = 0
    while heap and len(landmarks) < k:
        bound, label = heapq.heappop(heap)
        gain = float(degrees[label] - 2 * (1 + redundancy) * said[label] + bonus[label])
        n_evaluations += 1
        if -gain > bound:
            heapq.heappush(heap, (-gain, label))
            continue
        if gain < 0 and not fill:
            break
        landmarks.append(label)
        gains.append(gain)
        row = slice(W.indptr[label], W.indptr[label + 1])
        said[W.indices[row]] += W.data[row]
    n_monotone = next((i for i, gain in enumerate(gains) if gain < 0), len(gains))
    is_guaranteed = has_guarantee(W, degrees + bonus, landmarks, redundancy)
    return LandmarkSelection(np.array(landmarks, np.int64), np.array(gains), n_monotone, n_evaluations, is_guaranteed)


def has_guarantee(W: sparse.csr_array, alone: np.ndarray, landmarks: list[int], redundancy: float) -> bool:
    """Tell whether the condition of the guarantee holds; `alone` (n_labels,) is the worth of each label on its own."""
    others = 2 * len(landmarks) - 1
    largest = [np.sort(W.data[W.indptr[label] : W.indptr[label + 1]])[-others:].sum() for label in landmarks]
    return bool(np.all(alone[landmarks] >= 2 * (1 + redundancy) * np.array(largest)))


def choose_landmarks(
    Y: sparse.csr_array, affinity: Combination | None, r2: np.ndarray | None, settings: SelectionSettings
) -> LandmarkSelection:
    """Return as many landmarks as `settings` say, fewer when fewer labels have documents.

    Strategies of USES_AFFINITY need `affinity`, those of USES_SCORES need `r2`.
    """
    documents = np.bincount(Y.indices, minlength=Y.shape[1])
    eligible = np.flatnonzero(documents)
    k = settings.n_landmarks
    if k > len(eligible):
        log.warning("of the %d landmarks asked for there are only %d: no more labels have documents", k, len(eligible))
        k = len(eligible)
    strategy = settings.strategy
    if strategy in USES_AFFINITY:
        assert affinity is not None
        W = compute_graph_weights(affinity)
        bonus = np.zeros(Y.shape[1])
        if strategy == "combined":
            assert r2 is not None
            bonus = settings.score_weight * scale_scores(r2, eligible, float(W.sum(axis=1).max()))
        chosen = choose_greedily(W, bonus, k, eligible, redundancy=settings.redundancy, fill=settings.fill)
        if chosen.n_monotone < k:
            log.info("from landmark %d on a further one lowers the objective", chosen.n_monotone + 1)
        if not chosen.is_guaranteed:
            log.info("the greedy guarantee does not hold here: another set of landmarks may be worth far more")
        return chosen
    rng = np.random.default_rng(settings.seed)
    if strategy == "f_score":
        assert r2 is not None
        picked = eligible[np.argsort(-r2[eligible], kind="stable")[:k]]
    elif strategy == "most_frequent":
        picked = eligible[np.argsort(-documents[eligible], kind="stable")[:k]]
    elif strategy == "ml_cssp":
        picked = sample_columns(Y, k, eligible, rng)
    else:
        picked = rng.permutation(eligible)[:k]
    return LandmarkSelection(picked.astype(np.int64), np.zeros(len(picked)), len(picked))


def sample_columns(Y: sparse.csr_array, k: int, eligible: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw columns as in ML-CSSP (Bi and Kwok, 2013), by their leverage in the best rank-k approximation of Y."""
    from sklearn.utils.extmath import randomized_svd

    rank = min(k, *Y.shape)
    _, _, V = randomized_svd(Y, rank, random_state=int(rng.integers(2**31)))
    leverage = np.square(V[:, eligible]).sum(axis=0)  # (n_eligible,)
    likely = np.flatnonzero(leverage > 0)
    if len(likely) <= k:
        # So few labels matter to the approximation that all are taken; the most frequent of the others follow.
        documents = np.bincount(Y.indices, minlength=Y.shape[1])[eligible]
        order = np.lexsort((-documents, -(leverage > 0).astype(int)))
        return eligible[order[:k]]
    chances = leverage[likely] / leverage[likely].sum()
    return eligible[rng.choice(likely, k, replace=False, p=chances)]
