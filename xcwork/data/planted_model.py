"""A planted model: documents drawn from known probabilities, so that the best possible ranking is known too.

The model. Every label belongs to one of T topics and owns m terms that no other label has. A document has one topic t,
drawn with P(t) ∝ t^(-a/2). Each label l of that topic is relevant with probability pi_l, independently of the others;
pi falls with the rank of the label within its topic as rank^-a, so that the frequencies P(t) * pi_l of labels follow a
power law with exponent a. Documents without any label draw their labels again. A document is a set of terms; term w is
present with probability 1 - exp(-rate), independently of the other terms, where the rate is the sum of

    nu      if w belongs to a relevant label           mu_in   if w belongs to any label of the topic t
    tau     if w is one of the terms of the topic t    mu_out  (or sigma, for terms of topics) for every term

and common terms occur in all documents alike. The mu are noise: a document also mentions what it is not about.

The best ranking. Let c_l be how many of the m terms of label l are present. For a label of topic t, given t,

    carried(c) = pi_l       P1^c exp(-(m - c) (mu_in + nu)),    P1 = 1 - exp(-(mu_in + nu))
    without(c) = (1 - pi_l) P0^c exp(-(m - c) mu_in),           P0 = 1 - exp(-mu_in)

and under any other topic its terms have the probability other(c), which is P0 with mu_out instead. No two labels share
a term, so everything factorises:

    P(t | x)        ∝  P(t) * (terms of topic t) * product over l in t of (carried(c_l) + without(c_l)) / other(c_l)
    P(l rel. | x)   =  P(t_l | x) * carried(c_l) / (carried(c_l) + without(c_l))

Ranking by this marginal maximises the expected precision at every k. That no document is empty divides each of them by
the same P(some label | x), which leaves the order unchanged, and gives P(t) a factor 1 / P(some label | t).

Cost of ranking: O(terms of the document + T + k^2). Labels without any term present compete only through the prior, so
the k topics with the best such label, and the k best labels of each, are enough.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.compute.memory import MAX_USED_SHARE, measure_available_memory
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError
from xcwork.progress import track

MAX_PRIOR = 0.5
TOPIC_TERM_RATE = 0.5  # tau
STRAY_TOPIC_TERMS = 1.0  # expected in a document
COMMON_TERMS_SHOWN = 6.0  # expected in a document
MIN_RATE = 1e-12  # instead of no noise at all, whose logarithm would be infinite
DOCUMENTS_PER_BLOCK = 4096


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, kw_only=True)
class Planted:
    """The probabilities of the planted model. Labels are numbered by `slot`: topic by topic, most frequent first."""

    n_documents: int = 5_000
    n_labels: int = 500
    n_topics: int = 20
    label_terms: int = 4  # terms a label owns
    topic_terms: int = 10  # terms a topic owns
    common_terms: int = 200  # terms without meaning
    labels_per_document: float = 3.0
    exponent: float = 1.0  # of the power law of label frequencies
    signal: float = 0.4  # probability that a relevant label shows each of its terms
    noise: float = 6.0  # expected terms of irrelevant labels in a document, half of them from its own topic
    text_terms: int = 2  # own terms that the text of a label mentions
    unseen_share: float = 0.1  # labels that no training document has
    group_size: int = 10  # documents that share a group, all of one topic
    test_share: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        counts = ("n_labels", "n_topics", "label_terms", "topic_terms", "common_terms", "text_terms", "group_size")
        given: dict[str, Any] = {parameter.name: getattr(self, parameter.name) for parameter in fields(self)}
        for name, least in (("n_documents", 2), *((name, 1) for name in counts), ("seed", 0)):
            if not isinstance(given[name], int) or given[name] < least:
                raise ConfigError(f"{name} must be a whole number of at least {least}, got {given[name]!r}")
        for name, low, high in (
            ("signal", 0, 1),
            ("test_share", 0, 1),
            ("exponent", -1e-9, 10),
            ("noise", -1e-9, 1e4),
            ("unseen_share", -1e-9, 1),
        ):
            if not _is_number(given[name]) or not low < given[name] < high:
                raise ConfigError(f"{name} must lie between {max(low, 0)} and {high}, got {given[name]!r}")
        if self.n_topics > self.n_labels:
            raise ConfigError(f"there cannot be more topics ({self.n_topics}) than labels ({self.n_labels})")
        if self.text_terms > self.label_terms:
            raise ConfigError(f"a label has only {self.label_terms} terms, so its text cannot show {self.text_terms}")
        most = MAX_PRIOR * (self.n_labels // self.n_topics)
        if not _is_number(given["labels_per_document"]) or not 0 < self.labels_per_document <= most:
            raise ConfigError(
                f"labels_per_document must lie between 0 and {most:g}, half the number of labels of a topic, "
                f"got {self.labels_per_document!r}"
            )
        needed = self._estimate_memory()
        free = measure_available_memory()
        if needed > MAX_USED_SHARE * free:
            raise ConfigError(
                f"a synthetic dataset of this size would need about {needed / 2**30:,.0f} GiB, but only "
                f"{free / 2**30:.1f} GiB of memory are free; lower n_documents, n_labels or the numbers of terms"
            )

    def _estimate_memory(self) -> float:
        """Return bytes, roughly: 12 per entry of X and Y, twice while they are joined; texts of labels and terms."""
        shown = self.labels_per_document * (1 + self.label_terms * self.signal) + self.noise + self.topic_terms
        terms = self.n_labels * self.label_terms + self.n_topics * self.topic_terms + self.common_terms
        return 24.0 * self.n_documents * (shown + COMMON_TERMS_SHOWN) + 100.0 * terms + 300.0 * self.n_labels

    @cached_property
    def starts(self) -> np.ndarray:
        """The first slot of each topic, and the number of labels, (n_topics + 1,)."""
        sizes = self.n_labels // self.n_topics + (np.arange(self.n_topics) < self.n_labels % self.n_topics)
        return np.concatenate([[0], np.cumsum(sizes)])

    @cached_property
    def topic_of(self) -> np.ndarray:
        """The topic of each slot, (n_labels,)."""
        return np.repeat(np.arange(self.n_topics), np.diff(self.starts))

    @cached_property
    def topic_prior(self) -> np.ndarray:
        """The share of each topic among the documents, (n_topics,)."""
        shape = np.arange(1, self.n_topics + 1, dtype=np.float64) ** (-self.exponent / 2)
        return shape / shape.sum()

    @cached_property
    def prior(self) -> np.ndarray:
        """The probability of each label in a document of its topic, (n_labels,)."""
        priors = {size: self._make_power_law(size) for size in np.unique(np.diff(self.starts)).tolist()}
        return np.concatenate([priors[size] for size in np.diff(self.starts).tolist()])

    def _make_power_law(self, size: int) -> np.ndarray:
        """Return min(cap, s * rank^-exponent) with the s that makes the sum `labels_per_document`; by bisection."""
        shape = np.arange(1, size + 1, dtype=np.float64) ** -self.exponent
        low, high = 0.0, MAX_PRIOR / shape[-1]
        for _ in range(100):
            middle = (low + high) / 2
            too_low = np.minimum(MAX_PRIOR, middle * shape).sum() < self.labels_per_document
            low, high = (middle, high) if too_low else (low, middle)
        return np.minimum(MAX_PRIOR, high * shape)

    @cached_property
    def label_ids(self) -> np.ndarray:
        """The label id of each slot: shuffled, so that ids say nothing about frequencies, (n_labels,)."""
        return np.random.default_rng([self.seed, 0]).permutation(self.n_labels).astype(np.int32)

    @cached_property
    def unseen(self) -> np.ndarray:
        """Which slots no training document may have, (n_labels,) bool; the first label of a topic is always seen."""
        unseen = np.zeros(self.n_labels, bool)
        candidates = np.setdiff1d(np.arange(self.n_labels), self.starts[:-1])
        n_unseen = min(round(self.unseen_share * self.n_labels), len(candidates))
        unseen[np.random.default_rng([self.seed, 1]).permutation(candidates)[:n_unseen]] = True
        return unseen

    @property
    def n_label_terms(self) -> int:
        """Columns that belong to labels: the terms of slot s are s * label_terms and the following ones."""
        return self.n_labels * self.label_terms

    @property
    def n_terms(self) -> int:
        """All columns: terms of labels, then terms of topics, then common terms."""
        return self.n_label_terms + self.n_topics * self.topic_terms + self.common_terms

    @cached_property
    def _by_prior(self) -> np.ndarray:
        """The slots topic by topic, most frequent first, among equals the smaller label id, (n_labels,)."""
        return np.lexsort((self.label_ids, -self.prior, self.topic_of))

    @cached_property
    def _log(self) -> _Logarithms:
        return _Logarithms(self)

    def rank(self, X: sparse.csr_array, k: int = 5) -> TopK:
        """Return the best possible ranking of test documents; scores are the logarithms of the probabilities above."""
        if X.shape[1] != self.n_terms:
            raise ConfigError(f"this planted model has {self.n_terms} terms, the documents have {X.shape[1]}")
        k = min(k, self.n_labels)
        starts = track(range(0, X.shape[0], DOCUMENTS_PER_BLOCK), "ranking")
        parts = [self._rank_block(X[start : start + DOCUMENTS_PER_BLOCK], k) for start in starts]
        return TopK.concatenate(parts) if parts else TopK.make_empty(0, k)

    def _rank_block(self, X: sparse.csr_array, k: int) -> TopK:
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        of_label = X.indices < self.n_label_terms
        pairs = rows[of_label] * self.n_labels + X.indices[of_label] // self.label_terms
        pairs, present = np.unique(pairs, return_counts=True)
        with_terms = pairs // self.n_labels, pairs % self.n_labels, present
        topics = self._score_topics(X, rows, *with_terms)  # (n_documents, n_topics)

        documents, slots, present = with_terms
        scores = topics[documents, self.topic_of[slots]] + self._log.log_relevance(slots, present)
        best_documents, best_slots, best_scores = self._rank_without_terms(topics, k)
        documents, slots = np.append(documents, best_documents), np.append(slots, best_slots)
        return _keep_best(documents, self.label_ids[slots], np.append(scores, best_scores), X.shape[0], k)

    def _score_topics(
        self, X: sparse.csr_array, rows: np.ndarray, documents: np.ndarray, slots: np.ndarray, present: np.ndarray
    ) -> np.ndarray:
        """Return log P(t | x), (n_documents, n_topics)."""
        shape = X.shape[0], self.n_topics
        gain = self._log.log_topic_gain(slots, present) - self._log.log_topic_gain(slots, np.zeros_like(present))
        gains = np.bincount(documents * shape[1] + self.topic_of[slots], gain, minlength=shape[0] * shape[1])
        of_topic = (X.indices >= self.n_label_terms) & (X.indices < self.n_terms - self.common_terms)
        topics = (X.indices[of_topic] - self.n_label_terms) // self.topic_terms
        shown = np.bincount(rows[of_topic] * shape[1] + topics, minlength=shape[0] * shape[1])
        joint = self._log.topic_start + (gains + shown * self._log.topic_term).reshape(shape)
        joint -= joint.max(axis=1, keepdims=True)
        return joint - np.log(np.exp(joint).sum(axis=1, keepdims=True))

    def _rank_without_terms(self, topics: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (documents, slots, scores) of the labels that can be among the k best without any term present."""
        firsts = topics + self._log.log_relevance(self._by_prior[self.starts[:-1]], 0)
        n_topics = min(k, self.n_topics)
        chosen = np.argpartition(-firsts, n_topics - 1, axis=1)[:, :n_topics]  # (n_documents, n_topics)
        slots = self.starts[chosen][:, :, None] + np.arange(k)  # (n_documents, n_topics, k)
        exists = slots < self.starts[chosen + 1][:, :, None]
        documents = np.broadcast_to(np.arange(len(topics))[:, None, None], slots.shape)[exists]
        slots = self._by_prior[slots[exists]]
        return documents, slots, topics[documents, self.topic_of[slots]] + self._log.log_relevance(slots, 0)


class _Logarithms:
    """The logarithms of the probabilities in the docstring of this module."""

    def __init__(self, model: Planted) -> None:
        self.model = model
        sizes = np.diff(model.starts) * model.label_terms  # label terms of each topic
        outside = max(model.noise / 2 / model.n_label_terms, MIN_RATE)
        self.outside = _Presence(outside)
        self.inside = _Presence((outside + model.noise / 2 / sizes)[model.topic_of])
        self.shown = _Presence(self.inside.rate - np.log1p(-model.signal))
        stray = STRAY_TOPIC_TERMS / (model.n_topics * model.topic_terms)
        self.topic_term = _Presence(TOPIC_TERM_RATE + stray).log - _Presence(stray).log + TOPIC_TERM_RATE
        slots = np.arange(model.n_labels)
        nothing_present = np.add.reduceat(self.log_topic_gain(slots, 0), model.starts[:-1])
        expected_draws = np.add.reduceat(-np.log1p(-model.prior), model.starts[:-1])
        chances = np.log(model.topic_prior) - np.log(-np.expm1(-expected_draws))
        self.topic_start = chances + nothing_present  # (n_topics,)

    def _log_terms(self, presence: _Presence, slots: np.ndarray, present: np.ndarray | int) -> np.ndarray:
        rate, log = (np.broadcast_to(part, self.model.n_labels)[slots] for part in (presence.rate, presence.log))
        return present * log - (self.model.label_terms - present) * rate

    def _log_with_and_without(self, slots: np.ndarray, present: np.ndarray | int) -> tuple[np.ndarray, np.ndarray]:
        prior = self.model.prior[slots]
        carried = np.log(prior) + self._log_terms(self.shown, slots, present)
        return carried, np.log1p(-prior) + self._log_terms(self.inside, slots, present)

    def log_relevance(self, slots: np.ndarray, present: np.ndarray | int) -> np.ndarray:
        """Return log P(label relevant | its topic, its terms)."""
        carried, without = self._log_with_and_without(slots, present)
        return -np.logaddexp(0, without - carried)

    def log_topic_gain(self, slots: np.ndarray, present: np.ndarray | int) -> np.ndarray:
        """Return the evidence of a label's terms for its topic: log((carried + without) / other)."""
        return np.logaddexp(*self._log_with_and_without(slots, present)) - self._log_terms(self.outside, slots, present)


class _Presence:
    """A term that is present with probability 1 - exp(-rate)."""

    def __init__(self, rate: np.ndarray | float) -> None:
        self.rate = rate
        self.log = np.log(-np.expm1(-rate))


def _keep_best(documents: np.ndarray, labels: np.ndarray, scores: np.ndarray, n_documents: int, k: int) -> TopK:
    """Return the k best labels of each document; a label listed twice counts with its better score."""
    order = np.lexsort((-scores, labels, documents))
    documents, labels, scores = documents[order], labels[order], scores[order]
    new = np.ones(len(order), bool)
    new[1:] = (documents[1:] != documents[:-1]) | (labels[1:] != labels[:-1])
    documents, labels, scores = documents[new], labels[new], scores[new]
    order = np.lexsort((labels, -scores, documents))
    documents, labels, scores = documents[order], labels[order], scores[order]
    place = np.arange(len(documents)) - np.searchsorted(documents, np.arange(n_documents))[documents]
    best = TopK.make_empty(n_documents, k)
    kept = place < k
    best.ids[documents[kept], place[kept]] = labels[kept]
    best.scores[documents[kept], place[kept]] = scores[kept]
    return best
