"""What SiameseXML's supplement proves about its likelihood and its encoder, checked with numbers.

With p(+|v) = c exp(d (v - 1)) for a cosine v:

- appendix C: Lipschitz constants exp(2d)/(c d) of the inverse of p, d of ln p(+) and d c/(1 - c) of ln p(-);
- lemma 1: a classifier whose label text is nearly as likely as possible, p(+|1) - p(+|v) ≤ ε, scores like that text up
  to √(2 C_lip ε); the bound follows from C_lip alone, so it is far from what happens;
- claims 10 to 12: N_ν(v) = [v, ν]/√(‖v‖² + ν²) is 2/ν-Lipschitz and ReLU 1-Lipschitz;
- lemmas 6 and 7, claim 9: what a small change of the parameters changes in embeddings and in the ramp loss;
- lemma 16: a matrix of bounded entries is close to a mean of few single entries.

Reference: Dahiya et al., SiameseXML, ICML 2021, supplement A, C and G.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from xcwork.studies.siamesexml_claims import compute_ramp_loss
from xcwork.studies.study_outcome import StudyOutcome

if TYPE_CHECKING:
    import pandas as pd

LIKELIHOODS = {"module I": (0.9, 1.5), "module III": (0.75, 3.0)}  # c and d of the supplement
N_PAIRS = 20_000
N_TRIALS = 200
DIMENSION = 8
N_TOKENS = 30
ROUNDING = 1e-9


def check_lipschitz_constants(seed: int = 0) -> StudyOutcome:
    """Compare the constants of appendix C and claims 10 to 12 with the steepest slopes found."""
    rows: list[dict[str, Any]] = []
    for module, (c, d) in LIKELIHOODS.items():
        v = np.linspace(-1, 1, 20_001)
        p = c * np.exp(d * (v - 1))
        slopes = {
            "inverse of p": (np.max(np.diff(v) / np.diff(p)), math.exp(2 * d) / (c * d)),
            "ln p(+)": (np.max(np.diff(np.log(p)) / np.diff(v)), d),
            "ln p(-)": (np.max(-np.diff(np.log1p(-p)) / np.diff(v)), d * c / (1 - c)),
        }
        rows += [_describe_slope(f"{name}, {module}", *pair) for name, pair in slopes.items()]
    rng = np.random.default_rng(seed)
    for nu in (0.1, 1.0):
        first = rng.normal(size=(N_PAIRS, 5)) * rng.choice([0.01, 0.1, 1, 10], size=(N_PAIRS, 1))
        second = first + rng.normal(size=first.shape) * rng.choice([1e-3, 0.1, 1], size=(N_PAIRS, 1))
        moved = np.linalg.norm(normalise_with_nu(first, nu) - normalise_with_nu(second, nu), axis=1)
        steepest = (moved / np.linalg.norm(first - second, axis=1)).max()
        rows.append(_describe_slope(f"N_ν, ν = {nu}", steepest, 2 / nu))
    rectified = np.linalg.norm(np.maximum(first, 0) - np.maximum(second, 0), axis=1)
    rows.append(_describe_slope("ReLU", (rectified / np.linalg.norm(first - second, axis=1)).max(), 1.0))
    broken = [row["function"] for row in rows if row["broken"]]
    return StudyOutcome(
        not broken,
        f"{len(rows) - len(broken)} of {len(rows)} constants bound the steepest slope found; that of N_ν is twice what "
        "it needs to be.",
        rows,
    )


def normalise_with_nu(vectors: np.ndarray, nu: float) -> np.ndarray:
    """Return N_ν of every row, which has one entry more."""
    longer = np.hstack([vectors, np.full((len(vectors), 1), nu)])
    return longer / np.linalg.norm(longer, axis=1, keepdims=True)


def _describe_slope(name: str, found: float, claimed: float) -> dict[str, object]:
    return {
        "function": name,
        "steepest": float(found),
        "claimed": float(claimed),
        "broken": found > claimed * (1 + 1e-6),
    }


def compute_movement(c: float, d: float, cosines: np.ndarray) -> pd.DataFrame:
    """Return how far a score can move, and the bound of lemma 1, for cosines of a label's text and its classifier."""
    import pandas as pd

    gap = c - c * np.exp(d * (cosines - 1))
    return pd.DataFrame(
        {
            "cosine": cosines,
            "gap": gap,
            "largest change": np.sqrt(2 * (1 - cosines)),  # of a document in the direction of the difference
            "bound": np.sqrt(2 * math.exp(2 * d) / (c * d) * gap),
        }
    )


def check_lemma_1(seed: int = 0) -> StudyOutcome:
    """Compare the bound of lemma 1 with the largest change of a score and of a likelihood that is possible."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    n_broken = 0
    for module, (c, d) in LIKELIHOODS.items():
        steepest = math.exp(2 * d) / (c * d)
        slope = max(d, d * c / (1 - c))
        for cosine in (0.999, 0.99, 0.9, 0.5):
            gap = c - c * math.exp(d * (cosine - 1))
            bound = math.sqrt(2 * steepest * gap)
            largest = math.sqrt(2 * (1 - cosine))  # a document in the direction of the difference
            x = rng.uniform(-1, 1, N_PAIRS)
            moved = np.clip(x + largest * rng.uniform(-1, 1, N_PAIRS), -1, 1)
            change = np.abs(np.log1p(-c * np.exp(d * (x - 1))) - np.log1p(-c * np.exp(d * (moved - 1)))).mean()
            n_broken += (largest > bound + ROUNDING) + (change > slope * bound + ROUNDING)
            rows.append(
                {
                    "likelihood": module,
                    "cosine of text and classifier": cosine,
                    "largest change of a score": largest,
                    "bound": bound,
                    "mean change of ln p(-)": float(change),
                    "its bound": slope * bound,
                }
            )
    useful = [row for row in rows if row["bound"] < 2]
    return StudyOutcome(
        bool(n_broken == 0),
        f"{n_broken} bounds of lemma 1 are broken. They are below 2, the most a score can change, in {len(useful)} of "
        f"{len(rows)} cases: at a cosine of 0.9 it changes by at most {rows[2]['largest change of a score']:.2f}, the "
        f"bound of module I is {rows[2]['bound']:.2f} and that of module III {rows[6]['bound']:.2f}.",
        rows,
    )


def check_covers(seed: int = 0) -> StudyOutcome:
    """Change encoders a little and compare what changes with lemmas 6 and 7 and claim 9; draw lemma 16's matrices."""
    rng = np.random.default_rng(seed)
    worst = dict.fromkeys(("lemma 6", "lemma 7", "claim 9", "lemma 16"), 0.0)  # found over claimed
    for _ in range(N_TRIALS):
        nu, gamma, size = rng.choice([0.3, 1.0]), rng.choice([0.1, 0.5]), rng.choice([0.001, 0.03, 0.3])
        E, R = rng.normal(size=(DIMENSION, N_TOKENS)) / 3, rng.normal(size=(DIMENSION + 1, DIMENSION + 1)) / 3
        E2, R2 = E + size * rng.normal(size=E.shape), R + size * rng.normal(size=R.shape)
        texts = _draw_sparse_texts(rng, 21)
        before, after = _encode(texts, E, R, nu), _encode(texts, E2, R2, nu)
        epsilon = float(np.linalg.norm(before - after, axis=1).max())
        positive = np.arange(20) < 4
        ramps = [compute_ramp_loss(rows[1:] @ rows[0], positive, gamma) for rows in (before, after)]
        worst["lemma 6"] = max(worst["lemma 6"], abs(ramps[0] - ramps[1]) / (4 * epsilon / gamma))
        free = rng.normal(size=(20, before.shape[1])) / 2
        moved = free + epsilon * _draw_directions(rng, free.shape)
        classifiers = [normalise_with_nu(rows[1:] + own, nu) for rows, own in ((before, free), (after, moved))]
        padded = [np.append(rows[0], 0) for rows in (before, after)]
        ramps = [compute_ramp_loss(w @ x, positive, gamma) for w, x in zip(classifiers, padded, strict=True)]
        worst["lemma 7"] = max(worst["lemma 7"], abs(ramps[0] - ramps[1]) / (10 * epsilon / (gamma * nu)))
        hidden = normalise_with_nu(np.maximum(texts @ E2.T, 0), nu)
        of_E = np.linalg.norm(texts @ (E - E2).T, axis=1).max()
        of_R = np.linalg.norm(hidden @ (R - R2).T, axis=1).max()
        claimed = 2 / nu * (2 * (np.linalg.norm(R, 2) + 1) / nu * of_E + of_R)
        worst["claim 9"] = max(worst["claim 9"], epsilon / claimed)
        worst["lemma 16"] = max(worst["lemma 16"], _draw_sparse_means(rng))
    rows = [{"claim": name, "largest ratio of found and claimed": value} for name, value in worst.items()]
    broken = [name for name, value in worst.items() if value > 1 + ROUNDING]
    return StudyOutcome(
        not broken,
        f"{len(broken)} of {len(rows)} statements are broken in {N_TRIALS} random cases; the nearest to its bound, "
        f"{max(worst, key=lambda name: worst[name])}, reaches {100 * max(worst.values()):.0f} % of it.",
        rows,
    )


def _draw_sparse_texts(rng: np.random.Generator, n: int) -> np.ndarray:
    texts = rng.random((n, N_TOKENS)) * (rng.random((n, N_TOKENS)) < 0.2) + 1e-3
    return texts / np.linalg.norm(texts, axis=1, keepdims=True)


def _draw_directions(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    drawn = rng.normal(size=shape)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def _encode(texts: np.ndarray, E: np.ndarray, R: np.ndarray, nu: float) -> np.ndarray:
    """Return the supplement's embeddings, (n, dimension + 2)."""
    hidden = normalise_with_nu(np.maximum(texts @ E.T, 0), nu)
    return normalise_with_nu(hidden + np.maximum(hidden @ R.T, 0), nu)


def _draw_sparse_means(rng: np.random.Generator) -> float:
    """Return the error of the best of a few of lemma 16's random means over unit vectors, as a share of ε/(r + 1)."""
    M = rng.normal(size=(4, 6))
    size = np.abs(M).sum()
    epsilon = 0.5 * size
    largest = np.abs(M).sum(axis=0).max()  # Q for unit vectors
    T = math.ceil(math.log(2 * math.e * M.shape[1]) * 16 * 4 * largest * size / epsilon**2)
    chance = np.abs(M).ravel() / size
    errors = []
    for _ in range(3):
        counts = rng.multinomial(T, chance)
        mean = (counts / T * size * np.sign(M).ravel()).reshape(M.shape)
        errors.append(np.linalg.norm(mean - M, axis=0).max())
    return float(min(errors) / (epsilon / 2))
