"""The theorems of multi-head encoding, with numbers that break those that are false as printed.

| function | in the paper | what it does |
| --- | --- | --- |
| `check_theorem_1` | theorem 1 | the argmax of a Kronecker product and the argmax of each head, with negative outputs |
| `check_corollary_1` | corollary 1 | the best rank-one approximation of an output, and whose argmax it has |
| `check_theorem_2` | theorem 2 | a two-layer linear network from many starts: does it end at the optimum of the SVD? |
| `check_theorem_3` | theorem 3 | the four quadrants, separable, against the best classifier of rank one with a bias |
| `check_theorem_4` | theorem 4 | the error of a softmax against a bound that does not contain the features |
| `check_equation_16` | equation 16 | sums of products of heads, fitted to labels whose digits go together |
| `check_head_lengths` | section 4.4, equation 15 | which heads of a product and of a cascade confuse least |
| `check_low_rank` | figures 5a and 5b | squared error and cross-entropy with a bottleneck of one unit |
| `check_printed_decomposition` | algorithm 1, appendix F.2 | a label taken apart as printed and by equation 10 |

Reference: Liang et al., Multi-head encoding, TPAMI 2025.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from xcwork.methods.multihead.codes import MixedRadix, choose_even_heads, compute_confusion_degree
from xcwork.methods.multihead.heads import BatchTargets
from xcwork.methods.multihead.product_sum import ProductSumHeads
from xcwork.studies.low_rank import (
    compute_low_rank_curves,
    draw_gaussian_points,
    find_best_on_a_line,
    make_parabola_logits,
    make_quadrants,
)
from xcwork.studies.study_outcome import StudyOutcome

if TYPE_CHECKING:
    import pandas as pd

N_TRIALS = 300
N_STARTS = 8
N_STEPS = 3000
LEARNING_RATE = 0.02
START_SIZE = 0.3  # of random weights
ROUNDING = 1e-9
N_LOW_RANK_EPOCHS = 12_000
LOW_RANK_RATE = 0.1
N_PRODUCT_STEPS = 300


def check_theorem_1(seed: int = 0) -> StudyOutcome:
    """Compare the argmax of the product with the product of the argmaxes, for outputs of any sign and probabilities."""
    first = np.array([-3.0, 1.0])
    whole = int(np.kron(first, first).argmax())
    by_heads = 2 * int(first.argmax()) + int(first.argmax())
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for name in ("any sign", "probabilities"):
        agree = 0
        for _ in range(N_TRIALS):
            a, b = rng.normal(size=(2, 5)) if name == "any sign" else rng.dirichlet(np.ones(5), size=2)
            agree += int(np.kron(a, b).argmax()) == 5 * int(a.argmax()) + int(b.argmax())
        rows.append({"outputs": name, "products": N_TRIALS, "argmax agrees": agree})
    return StudyOutcome(
        False,
        f"With two heads of outputs (-3, 1) the product is largest at label {whole} (value 9), the heads say "
        f"{by_heads} (value 1). Of random outputs {rows[0]['argmax agrees']} of {N_TRIALS} agree, of probabilities "
        f"{rows[1]['argmax agrees']}: the theorem needs non-negative outputs.",
        rows,
    )


def check_corollary_1(seed: int = 0) -> StudyOutcome:
    """Show an output whose best approximation by a product of two heads has another argmax."""
    output = np.array([[0.0, 1.0], [1.0, 0.9]])
    left, values, right = np.linalg.svd(output)
    approximation = values[0] * np.outer(left[:, 0], right[0])
    rng = np.random.default_rng(seed)
    agree = 0
    for _ in range(N_TRIALS):
        drawn = rng.random((5, 5))
        u, s, v = np.linalg.svd(drawn)
        agree += int((s[0] * np.outer(u[:, 0], v[0])).argmax()) == int(drawn.argmax())
    rows = [
        {"matrix": "output", "entries": str(output.ravel().round(2)), "argmax": int(output.argmax())},
        {
            "matrix": "best product of two heads",
            "entries": str(approximation.ravel().round(2)),
            "argmax": int(approximation.argmax()),
        },
    ]
    return StudyOutcome(
        False,
        f"The output (0, 1; 1, 0.9) is largest at entry {output.argmax()}, its best approximation by two heads at "
        f"{approximation.argmax()}. Of {N_TRIALS} random 5 × 5 outputs {agree} keep their argmax.",
        rows,
    )


def check_theorem_2(seed: int = 0) -> StudyOutcome:
    """Train a two-layer linear network with the squared error from several starts and compare with the best rank."""
    F, Y = _draw_linear_problem(seed)
    rows: list[dict[str, Any]] = []
    for rank in (1, 2, 4):
        starts = [np.random.default_rng((seed, start)) for start in range(N_STARTS)]
        losses = [_train_linear_network(F, Y, rank, rng)[-1] for rng in starts]
        rows.append({"rank": rank, "optimum": _find_optimum(F, Y, rank), "best": min(losses), "worst": max(losses)})
    worst = max(row["worst"] / row["optimum"] - 1 for row in rows)
    return StudyOutcome(
        worst < 1e-3,
        f"From {N_STARTS} random starts each, networks of rank 1, 2 and 4 end within {100 * worst:.3f} % of the "
        "optimum that the SVD gives: no spurious local minimum was met.",
        rows,
    )


def follow_linear_networks(rank: int, *, n_starts: int = N_STARTS, seed: int = 0) -> pd.DataFrame:
    """Return how far the squared error of networks of a rank is above the optimum, in percent, from several starts."""
    import pandas as pd

    F, Y = _draw_linear_problem(seed)
    optimum = _find_optimum(F, Y, rank)
    curves = [
        _train_linear_network(F, Y, rank, np.random.default_rng((seed, start)), every=50) for start in range(n_starts)
    ]
    steps = np.arange(len(curves[0])) * 50
    frames = [
        pd.DataFrame({"start": start, "step": steps, "above": 100 * (np.array(curve) / optimum - 1)})
        for start, curve in enumerate(curves)
    ]
    return pd.concat(frames, ignore_index=True)


def _draw_linear_problem(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(6, 40)) / 2, rng.normal(size=(5, 40)) / 2


def _find_optimum(F: np.ndarray, Y: np.ndarray, rank: int) -> float:
    """Return the least squared error of any linear map of this rank, from the SVD of the fitted outputs."""
    left, values, right = np.linalg.svd(Y @ F.T @ np.linalg.inv(F @ F.T) @ F, full_matrices=False)
    return float(0.5 * np.linalg.norm(Y - (left[:, :rank] * values[:rank]) @ right[:rank]) ** 2)


def _train_linear_network(
    F: np.ndarray, Y: np.ndarray, rank: int, rng: np.random.Generator, every: int = N_STEPS
) -> list[float]:
    """Return the squared error at the start and after every so many steps."""
    W1, W2 = START_SIZE * rng.normal(size=(rank, F.shape[0])), START_SIZE * rng.normal(size=(Y.shape[0], rank))
    losses = [float(0.5 * np.linalg.norm(Y - W2 @ W1 @ F) ** 2)]
    for step in range(1, N_STEPS + 1):
        error = (W2 @ W1 @ F - Y) @ F.T
        W1, W2 = W1 - LEARNING_RATE * W2.T @ error, W2 - LEARNING_RATE * error @ W1.T
        if step % every == 0:
            losses.append(float(0.5 * np.linalg.norm(Y - W2 @ W1 @ F) ** 2))
    return losses


def check_theorem_3(seed: int = 0) -> StudyOutcome:
    """Compare a full linear classifier with the best one of rank one and a bias on the four quadrants."""
    points, classes = make_quadrants(seed=seed)
    corners = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]], float)
    full = float(((points @ corners.T).argmax(1) == classes).mean())
    best = find_best_on_a_line(points, classes, directions=60)
    rows = [{"classifier": "full", "accuracy": 100 * full}, {"classifier": "rank 1 and a bias", "accuracy": 100 * best}]
    return StudyOutcome(
        best > full - 0.01,
        f"The quadrants of the plane are separable ({100 * full:.0f} % by a full linear classifier), but no classifier "
        f"of rank one with a bias gets more than {100 * best:.1f} %.",
        rows,
    )


def compare_softmax_errors(off: float, sizes: Sequence[float]) -> list[dict[str, Any]]:
    """Return the error of a softmax of two logits whose weights are off by ± `off`, and theorem 4's bound on it."""
    delta = np.array([off, -off])
    bound = float(np.abs(np.exp(delta) - 1).sum())
    rows: list[dict[str, Any]] = []
    for size in sizes:
        error = float(np.abs(_compute_softmax(delta * size) - _compute_softmax(np.zeros(2))).sum())
        rows.append({"feature": size, "error": error, "bound": bound, "broken": error > bound + ROUNDING})
    return rows


def check_theorem_4(seed: int = 0) -> StudyOutcome:
    """Compare the error of a softmax with the bound of theorem 4 while the features grow."""
    rows = compare_softmax_errors(0.01, (0.5, 1.0, 10.0, 100.0))
    bound = rows[0]["bound"]
    return StudyOutcome(
        not any(row["broken"] for row in rows),
        f"With weights off by ±0.01 the bound is {bound:.3f} whatever the feature; with a feature of 100 the error is "
        f"{rows[-1]['error']:.3f}. The bound lacks the size of the features.",
        rows,
    )


def _compute_softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def check_equation_16(seed: int = 0) -> StudyOutcome:
    """Fit sums of G products of two heads to labels whose digits always go together, a distribution of rank four."""
    import torch

    labels = np.eye(4, dtype=np.float32).reshape(-1)  # of 4 × 4 labels, those with equal digits
    Y = sparse.csr_array(np.eye(16, dtype=np.float32)[np.tile(np.flatnonzero(labels), 8)])
    rows: list[dict[str, Any]] = []
    for n_products in (1, 2, 4):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            heads = ProductSumHeads(1, MixedRadix((4, 4), 16), n_products)
        optimiser = torch.optim.Adam(heads.parameters(), lr=0.1)
        for _ in range(N_PRODUCT_STEPS):
            optimiser.zero_grad()
            loss = heads.compute_loss(torch.ones(Y.shape[0], 1), BatchTargets(Y, np.random.default_rng(0)))
            loss.backward()
            optimiser.step()
        rows.append({"products": n_products, "loss": float(loss.detach()), "least possible": math.log(4)})
    return StudyOutcome(
        rows[0]["loss"] > rows[1]["loss"] > rows[2]["loss"] and rows[2]["loss"] < math.log(4) + 0.05,
        f"Four labels whose two digits are equal occur equally often, an entropy of {math.log(4):.2f}. One product of "
        f"heads ends at a loss of {rows[0]['loss']:.2f}, two at {rows[1]['loss']:.2f}, four at {rows[2]['loss']:.2f}.",
        rows,
    )


def check_head_lengths(seed: int = 0) -> StudyOutcome:
    """Compute the confusion degree of every way to code 4,096 labels with two or three heads."""
    n_labels = 4096
    powers = [2**bits for bits in range(1, 12)]
    pairs = [(a, n_labels // a) for a in powers]
    triples = [(a, b, n_labels // (a * b)) for a in powers for b in powers if n_labels // (a * b) >= 2]
    rows: list[dict[str, Any]] = []
    for lengths in (pairs, triples):
        product = min(lengths, key=lambda heads: compute_confusion_degree(heads, parallel=True))
        cascade = min(lengths, key=compute_confusion_degree)
        rows.append(
            {
                "heads": len(product),
                "product: least confusion": str(product),
                "cascade: least confusion": str(cascade),
                "descending is best": all(
                    compute_confusion_degree(sorted(heads, reverse=True)) <= compute_confusion_degree(heads)
                    for heads in lengths
                ),
            }
        )
    is_even = all(len(set(map(int, row["product: least confusion"].strip("()").split(",")))) == 1 for row in rows)
    return StudyOutcome(
        is_even and all(row["descending is best"] for row in rows),
        f"For 4,096 labels a product confuses least with {rows[0]['product: least confusion']} and "
        f"{rows[1]['product: least confusion']}; in a cascade descending lengths are never worse than another order.",
        rows,
    )


def check_low_rank(seed: int = 0) -> StudyOutcome:
    """Train both losses on 100 Gaussian points with one unit and a bias, and give the explicit solution.

    The learning rate falls to zero: with a constant one the borders between so many classes on a line never settle.
    """
    import pandas as pd

    points = draw_gaussian_points(seed=seed)
    every = N_LOW_RANK_EPOCHS // 4
    frame = pd.concat(
        compute_low_rank_curves(
            points, epochs=epochs, every=every, rate=LOW_RANK_RATE, decay=True, seed=seed, losses=(loss,)
        )
        for loss, epochs in (("squared error", every), ("cross-entropy", N_LOW_RANK_EPOCHS))
    )
    last = frame.groupby("loss").last()
    direction = np.random.default_rng(seed).normal(size=(points.shape[1],))
    explicit = 100 * float((make_parabola_logits(points, direction).argmax(1) == np.arange(len(points))).mean())
    by_ce, by_mse = (last.loc[loss] for loss in ("cross-entropy", "squared error"))
    return StudyOutcome(
        bool(by_ce["accuracy"] > 90),
        f"Cross-entropy ends at {by_ce['accuracy']:.0f} % (rank {by_ce['rank']}) after {N_LOW_RANK_EPOCHS:,} epochs "
        f"with a falling rate, the squared error at {by_mse['accuracy']:.0f} % (rank {by_mse['rank']}); an explicit "
        f"solution of rank one with a bias has {explicit:.0f} %.",
        frame.to_dict("records"),
    )


def check_printed_decomposition(seed: int = 0) -> StudyOutcome:
    """Take label 57 apart with heads 4, 5, 5 as algorithm 1 prints it and by equation 10; check the heads of F.2."""
    lengths = (4, 5, 5)
    printed = _decompose_as_printed(57, lengths)
    by_equation = MixedRadix(lengths, 100).split_codes(np.array([57]))[0].tolist()
    rows = [
        {"how": "algorithm 1 as printed", "digits": str(printed)},
        {"how": "equation 10", "digits": str(by_equation)},
        {"how": "codes of four heads of 36", "digits": f"{36**4:,} for 1,728,000 labels"},
        {"how": "shortest four heads", "digits": str(choose_even_heads(1_728_000, 4))},
        # A batch with heads 2 and 5 of ten labels each; label 57 is number 7 of head 5, the second head of the batch.
        {"how": "FastSampling of algorithm 4, target of label 57", "digits": f"{1 * 5 + 7}; it stands at {1 * 10 + 7}"},
    ]
    return StudyOutcome(
        printed == by_equation,
        f"Algorithm 1 as printed takes 57 apart into {printed}; equation 10 gives {by_equation}, which is right. Four "
        f"heads of 36 have {36**4:,} codes, too few for the 1,728,000 labels of appendix F.2.",
        rows,
    )


def _decompose_as_printed(label: int, lengths: tuple[int, ...]) -> list[int]:
    digits = []
    for head in range(len(lengths)):
        rest = math.prod(lengths[head + 1 :])
        digit = label % rest  # the printed mod; a division is meant
        label = label - rest * digit
        digits.append(digit)
    return [*digits, label]
