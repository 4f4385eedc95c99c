"""How far each score is trusted for each label, learned on documents that training has not seen.

    logit p(l | x) = Σ_c weight_c(l) score_c(x, l) + constant(l),     weight_c(l) = W_c · φ(n_l)

where n_l is the number of training documents of the label and φ(n) = (1, ln(1 + n) / 5, exp(-n / 5)): a label with
thousands of documents has learned its classifiers well, one with two of them has to go by its text, and between the two
the weights change smoothly. There are two ways to W, and what ranks left-out documents better is taken:

- The usual weights, the same for all labels. With few validation documents nothing else can be told.
- A logistic regression on the best candidates of the validation documents.

Either is then improved where it counts: one score after the other is multiplied by the factor that gives the best
nDCG@5, until no change helps. The objective is a step function of few variables, for which this is fast and needs no
derivative. A hundred documents leave it to luck which factors are best, so the result is the mean over draws of two
thirds of them. Labels without training documents get a constant of their own when validation documents have enough of
them; otherwise φ(0) continues what was learned from rare labels.

In the end everything is multiplied by one number, so that the sum is the logit it is called. That changes no ranking,
but scores of two trainings mean the same: probabilities are learned from a model that has not seen some of the
documents (`xcwork.decisions`).

`tail` subtracts tail * ln(1 + n_l): of two labels that are about equally likely, the rarer one comes first. That costs
next to nothing in precision and gains where rare labels matter.

`alpha` asks for the paper's sum instead, α w·E(x) + (1 - α) (z̃ + v)·E(x), and nothing is learned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from xcwork.core.topk import MISSING
from xcwork.methods.model import Params
from xcwork.methods.siamesexml.judged import JudgedCandidates
from xcwork.methods.siamesexml.neighbourhood import read_graphs
from xcwork.methods.siamesexml.scores import SCORE_NAMES, LabelWeights, ScoredCandidates, look_up
from xcwork.search import top_k_rows

USUAL_WEIGHTS = dict(zip(SCORE_NAMES, (0.3, 0.1, 0.1, 0.1, 0.1, 0.3), strict=True))
USUAL_WEIGHT_SUM = 12.0  # so that weighted sums of scores are about as large as logits
N_TRAITS = 3  # columns of φ
MAX_CANDIDATES = 100  # best labels of a validation document that are ranked again
MAX_DECISIVE_CANDIDATES = 25  # of them, among which the regressions learn to decide
REGRESSION_C = 1.0  # of the regression's data against the size of its weights
TRIED_FACTORS = (0.0, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 8.0)
TRIED_BONUSES = (-4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0)  # added to the constant of unseen labels
MAX_SWEEPS = 4  # over all factors
DRAWN_SHARE = 2 / 3  # of the validation documents, in each draw
MIN_DRAWS = 4
MAX_DRAWS = 10
MAX_DRAWN_DOCUMENTS = 4000  # over all draws: the more documents, the less depends on the draw
NDCG_K = 5  # of the nDCG that is improved
MIN_UNSEEN_POSITIVES = 10  # for a constant of their own


def describe_frequencies(frequencies: np.ndarray) -> np.ndarray:
    """Return φ of each label, (n_labels, 3)."""
    n = np.asarray(frequencies, np.float64)
    return np.column_stack([np.ones_like(n), np.log1p(n) / 5, np.exp(-n / 5)])


@dataclass(frozen=True, eq=False)
class Fusion:
    """The learned table; its last row belongs to the constant."""

    table: np.ndarray  # (n_scores + 1, 3) float64
    unseen_bonus: float = 0.0
    tail: float = 0.0

    def weigh_labels(self, frequencies: np.ndarray) -> LabelWeights:
        """Return the weights of labels with so many training documents."""
        *of_scores, constant = self.table @ describe_frequencies(frequencies).T  # each (n_labels,)
        constant = constant + np.where(frequencies == 0, self.unseen_bonus, 0) - self.tail * np.log1p(frequencies)
        return LabelWeights(np.array(of_scores, np.float32), constant.astype(np.float32))

    def summarise(self) -> dict[str, float]:
        """Return the weights of a label with two training documents and of one with a thousand."""
        kinds = {"rare": 2, "frequent": 1000}
        weights = self.weigh_labels(np.array([*kinds.values()])).of_scores
        return {
            f"{name} ({kind})": float(weights[place, column])
            for place, name in enumerate(SCORE_NAMES)
            for column, kind in enumerate(kinds)
        }


def list_available(params: Params) -> list[int]:
    """Return the places of the scores that the parameters provide for."""
    graphs = read_graphs(params.graphs)
    missing = {
        "classifier": params.classifier_epochs == 0,
        "terms": not params.terms,
        "documents": "documents" not in graphs,
        "centroid": "centroids" not in graphs,
    }
    return [place for place, name in enumerate(SCORE_NAMES) if not missing.get(name, False)]


def make_constant_weights(weights: dict[str, float]) -> Fusion:
    """Return the same weights for all labels; scores that are not named count nothing."""
    table = np.zeros((len(SCORE_NAMES) + 1, N_TRAITS))
    table[:-1, 0] = [weights.get(name, 0.0) for name in SCORE_NAMES]
    return Fusion(table)


def make_usual_weights(places: list[int]) -> Fusion:
    """Return weights for want of better ones."""
    shares = {SCORE_NAMES[place]: USUAL_WEIGHTS[SCORE_NAMES[place]] for place in places}
    return make_constant_weights(
        {name: USUAL_WEIGHT_SUM * share / sum(shares.values()) for name, share in shares.items()}
    )


def make_paper_weights(alpha: float) -> Fusion:
    """Return α classifier + (1 - α) (text + centroid)."""
    return make_constant_weights({"classifier": alpha, "text": 1 - alpha, "centroid": 1 - alpha})


def choose_weights(
    scored: ScoredCandidates,
    truth: sparse.csr_array,
    frequencies: np.ndarray,
    places: list[int],
    group_of: np.ndarray | None = None,
) -> Fusion:
    """Return what ranks the documents of `truth` (n_documents, n_labels) best, given the scores of their candidates.

    Documents with the same number in `group_of` share their labels, so a draw keeps them together.
    """
    known = make_usual_weights(places)
    scored = keep_best(scored, known.weigh_labels(frequencies), MAX_CANDIDATES)
    gain = RankingGain.from_scores(scored, truth)
    regression = WeightRegression.from_scores(scored, truth, frequencies, places)
    draws = draw_documents(np.arange(len(scored.ids)) if group_of is None else group_of)
    learned: list[Fusion] = []
    values: list[float] = []
    for found in ([known] * len(draws), [regression.solve(drawn) for drawn in draws]):
        starts = [start for start in found if start is not None]
        if len(starts) < len(draws):  # the regression has nothing to learn from
            continue
        tried = [
            FactorAscent(start, scored, frequencies, gain, drawn).run()
            for start, drawn in zip(starts, draws, strict=True)
        ]
        left_out = [
            gain(scored.add_up(one.weigh_labels(frequencies)))[~drawn].sum()
            for one, drawn in zip(tried, draws, strict=True)
        ]
        learned.append(average_weights(tried))
        values.append(sum(left_out))
    return learned[int(np.argmax(values))]


def draw_documents(group_of: np.ndarray) -> list[np.ndarray]:
    """Return draws of two thirds of the documents, (n_documents,) bool each; groups stay whole."""
    _, units = np.unique(group_of, return_inverse=True)
    n_units = int(units.max()) + 1
    n_draws = int(np.clip(MAX_DRAWN_DOCUMENTS // len(units), MIN_DRAWS, MAX_DRAWS))
    rng = np.random.default_rng(0)
    n_drawn = max(1, round(DRAWN_SHARE * n_units))
    return [np.isin(units, rng.permutation(n_units)[:n_drawn]) for _ in range(n_draws)]


def average_weights(fusions: list[Fusion]) -> Fusion:
    """Return the mean of learned weights."""
    table = np.mean([each.table for each in fusions], axis=0)
    return replace(fusions[0], table=table, unseen_bonus=float(np.mean([each.unseen_bonus for each in fusions])))


def keep_best(scored: ScoredCandidates, weights: LabelWeights, n: int) -> ScoredCandidates:
    """Return the n best candidates of each document only."""
    best = top_k_rows(scored.add_up(weights), n).ids
    ids = np.take_along_axis(scored.ids, np.maximum(best, 0), axis=1)
    values = np.take_along_axis(scored.values, np.maximum(best, 0)[None], axis=2)
    return ScoredCandidates(np.where(best == MISSING, MISSING, ids), values)


@dataclass(frozen=True, eq=False)
class FactorAscent:
    """Improves nDCG@5 of some documents by multiplying the rows of a table."""

    start: Fusion
    scored: ScoredCandidates
    frequencies: np.ndarray  # (n_labels,)
    gain: RankingGain
    documents: np.ndarray  # (n_documents,) bool

    def run(self) -> Fusion:
        """Return the start with the best factors and the best constant of unseen labels."""
        ids = self.scored.ids[self.documents]
        weights = self.start.weigh_labels(self.frequencies)
        parts = [w[ids] * v[self.documents] for w, v in zip(weights.of_scores, self.scored.values, strict=True)]
        constant = np.where(ids == MISSING, -np.inf, weights.constant[ids])
        is_unseen = (ids != MISSING) & (self.frequencies[ids] == 0)
        gain = self.gain.take(self.documents)
        with_unseen = np.count_nonzero(is_unseen & gain.is_relevant) >= MIN_UNSEEN_POSITIVES
        choices = [TRIED_FACTORS if part.any() else (1.0,) for part in parts] + [
            TRIED_BONUSES if with_unseen else (0.0,)
        ]
        terms = [*parts, is_unseen.astype(np.float32)]
        chosen = np.append(np.ones(len(parts)), 0.0)

        def add_up(factors: np.ndarray) -> np.ndarray:
            return sum((f * t for f, t in zip(factors, terms, strict=True) if f), constant)

        best = float(gain(add_up(chosen)).sum())
        for _ in range(MAX_SWEEPS):
            before = best
            for place, options in enumerate(choices):
                others = add_up(np.where(np.arange(len(chosen)) == place, 0, chosen))
                for option in options:
                    if option == chosen[place]:
                        continue
                    reached = float(gain(others + option * terms[place] if option else others).sum())
                    if reached > best + 1e-9:
                        best, chosen[place] = reached, option
            if best == before:
                break
        table = self.start.table * np.append(chosen[:-1], 1.0)[:, None]
        return replace(self.start, table=table, unseen_bonus=self.start.unseen_bonus + float(chosen[-1]))


@dataclass(frozen=True, eq=False)
class WeightRegression:
    """The logistic regression on the candidates of some documents."""

    scored: ScoredCandidates
    is_relevant: np.ndarray  # (n_documents, n_candidates) bool
    frequencies: np.ndarray  # (n_labels,)
    places: list[int]

    @classmethod
    def from_scores(
        cls, scored: ScoredCandidates, truth: sparse.csr_array, frequencies: np.ndarray, places: list[int]
    ) -> WeightRegression:
        """Return the regression on the decisive candidates."""
        decisive = keep_best(scored, make_usual_weights(places).weigh_labels(frequencies), MAX_DECISIVE_CANDIDATES)
        return cls(decisive, look_up(truth, decisive.ids) > 0, frequencies, places)

    def solve(self, documents: np.ndarray) -> Fusion | None:
        """Return the table learned from `documents` (n_documents,) bool; none where all candidates are alike."""
        from sklearn.linear_model import LogisticRegression

        used = (self.scored.ids != MISSING) & documents[:, None]
        unseen = used & (self.frequencies[self.scored.ids] == 0)
        with_unseen = np.count_nonzero(unseen & self.is_relevant) >= MIN_UNSEEN_POSITIVES
        if not with_unseen:
            used &= ~unseen
        relevant = self.is_relevant[used]
        if relevant.all() or not relevant.any():
            return None
        # The last input tells unseen labels; it is 0 everywhere, and so is its weight, where they do not take part.
        inputs = np.column_stack([self._make_inputs(used), unseen[used]])
        regression = LogisticRegression(C=REGRESSION_C, solver="newton-cholesky", fit_intercept=False).fit(
            inputs, relevant
        )
        *learned, bonus = regression.coef_[0]
        table = np.zeros((len(SCORE_NAMES) + 1, N_TRAITS))
        table[[*self.places, len(SCORE_NAMES)]] = np.reshape(learned, (-1, N_TRAITS))
        return Fusion(table, float(bonus))

    def _make_inputs(self, used: np.ndarray) -> np.ndarray:
        """Return every score, and 1 for the constant, times every trait of the label: (n_pairs, …)."""
        scores = np.array([*(self.scored.values[place][used] for place in self.places), np.ones(used.sum())]).T
        of_label = describe_frequencies(self.frequencies)[self.scored.ids[used]]
        return (scores[:, :, None] * of_label[:, None, :]).reshape(len(scores), -1)


@dataclass(frozen=True, eq=False)
class RankingGain:
    """nDCG@5 as a function of the scores of fixed candidates."""

    is_relevant: np.ndarray  # (n_documents, n_candidates) bool
    ideal: np.ndarray  # (n_documents,)

    @classmethod
    def from_scores(cls, scored: ScoredCandidates, truth: sparse.csr_array) -> RankingGain:
        """Return the gain of ranking the candidates of `scored`."""
        discounts = 1 / np.log2(np.arange(NDCG_K) + 2)
        n_relevant = np.minimum(np.diff(truth.indptr), NDCG_K)
        return cls(look_up(truth, scored.ids) > 0, np.append(0, np.cumsum(discounts))[n_relevant])

    def take(self, documents: np.ndarray) -> RankingGain:
        """Return the gain of some documents only."""
        return RankingGain(self.is_relevant[documents], self.ideal[documents])

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return nDCG@5 of each document."""
        best = top_k_rows(scores, NDCG_K).ids
        hits = np.take_along_axis(self.is_relevant, np.maximum(best, 0), axis=1) & (best >= 0)
        gains = (hits / np.log2(np.arange(best.shape[1]) + 2)).sum(axis=1)
        return np.divide(gains, self.ideal, out=np.zeros_like(gains), where=self.ideal > 0)


def learn_weights(judged: JudgedCandidates | None, params: Params) -> Fusion:
    """Return the weights that the parameters ask for: the paper's, or learned on `judged`, or the usual ones."""
    if params.alpha is not None:
        return make_paper_weights(params.alpha)
    places = list_available(params)
    if judged is None:
        return replace(make_usual_weights(places), tail=params.tail)
    learned = choose_weights(judged.scored, judged.truth, judged.frequencies, places, judged.group_of)
    return scale_to_logits(replace(learned, tail=params.tail), judged.scored, judged.truth, judged.frequencies)


def scale_to_logits(
    chosen: Fusion, scored: ScoredCandidates, truth: sparse.csr_array, frequencies: np.ndarray
) -> Fusion:
    """Return the same ranking with scores on the scale of logits, so that those of two trainings mean the same."""
    from sklearn.linear_model import LogisticRegression

    weights = chosen.weigh_labels(frequencies)
    decisive = keep_best(scored, weights, MAX_DECISIVE_CANDIDATES)
    used = decisive.ids != MISSING
    total = decisive.add_up(weights)[used].astype(np.float64)
    relevant = look_up(truth, decisive.ids)[used] > 0
    if relevant.all() or not relevant.any():
        return chosen
    fitted = LogisticRegression(C=REGRESSION_C).fit(total[:, None], relevant)
    slope, shift = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
    if slope <= 0:  # the ranking is no better than chance
        return chosen
    table = chosen.table * slope
    table[-1, 0] += shift
    return Fusion(table, chosen.unseen_bonus * slope, chosen.tail * slope)
