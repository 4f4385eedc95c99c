"""The experiments of the EAGLE paper: when does it help to assign the labels of a group to its members?

- `simulate_regression` and `simulate_classification` (figures 3 and 6): a linear model is learned from groups whose
  outputs are known in unknown order. *NoAS* learns from the sums of each group; *AS* then gives every output to the
  member whose prediction by NoAS is nearest, and learns again from single pairs. Both are compared with the estimator
  that knows the order.
- `compare_variants` (table 2) and `measure_precision_loss` (figures 4, 7, 8 and 9): a dataset is grouped, and a
  learner sees the true labels (oracle), the labels of the group (baseline), or those assigned by EAGLE without and
  with steps as the paper does it; and as the workbench does it, with documents centred first and each label given to
  as many members as have it.
- `make_label_images` (figures 5 and 10): what the embeddings of the labels of images look like.

All are small by default, take a seed, and give data frames or arrays that notebooks and the dashboard draw.

Reference: Shen et al., Extreme multi-label classification from aggregated labels, ICML 2020, section 7 and appendix B.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from xcwork.core.dataset import Dataset
from xcwork.core.split import Split
from xcwork.data.groups import cluster_into_groups, collect_groups, draw_random_groups
from xcwork.errors import DataError
from xcwork.metrics import evaluate_topk
from xcwork.progress import track

if TYPE_CHECKING:
    import pandas as pd

SIGMAS = (0.0, 0.1, 1.0, 5.0, 10.0)
VARIANTS: dict[str, dict[str, Any]] = {
    "oracle": {"assign": "truth"},
    "baseline": {"assign": "all"},
    "EAGLE-0": {"steps": 0, "centre": False, "assign": "one"},
    "EAGLE": {"centre": False, "assign": "one"},
    "EAGLE-0, centred": {"steps": 0, "centre": True},
    "EAGLE, centred": {"centre": True},
}
# What is compared unless asked otherwise.
USUAL_VARIANTS = ("oracle", "baseline", "EAGLE-0", "EAGLE", "EAGLE, centred")


@dataclass(frozen=True)
class LinearEstimates:
    """Linear models B (n_inputs, n_outputs) learned from grouped pairs."""

    oracle: np.ndarray
    without: np.ndarray  # NoAS
    assigned: np.ndarray  # AS

    @classmethod
    def from_groups(cls, X: np.ndarray, Z: np.ndarray, size: int) -> LinearEstimates:
        """Return the models learned from X (n, n_inputs) and Z (n, n_outputs), whose rows come in groups of `size`."""

        def solve_least_squares(x: np.ndarray, z: np.ndarray) -> np.ndarray:
            return np.linalg.lstsq(x, z, rcond=None)[0]

        inputs, outputs = (part.reshape(-1, size, part.shape[1]) for part in (X, Z))  # (n_groups, size, …)
        without = solve_least_squares(inputs.sum(axis=1), outputs.sum(axis=1))
        predicted = inputs @ without
        distance = ((outputs[:, :, None] - predicted[:, None]) ** 2).sum(axis=3)  # (n_groups, output, input)
        nearest = np.take_along_axis(inputs, distance.argmin(axis=2)[:, :, None], axis=1)
        assigned = solve_least_squares(nearest.reshape(len(X), -1), outputs.reshape(len(X), -1))
        return cls(solve_least_squares(X, Z), without, assigned)


def simulate_regression(
    sigma_2: Sequence[float] = SIGMAS,
    *,
    n: int = 1000,
    group_size: int = 10,
    n_inputs: int = 10,
    n_outputs: int = 5,
    sigma_1: float = 1.0,
    sigma_e: float = 1.0,
    repeats: int = 10,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the error of both estimators relative to the oracle's, over the deviation `sigma_2` within a group.

    A group has a centre drawn with deviation sigma_1, its members deviate from it by sigma_2, and outputs have noise
    sigma_e: theorem 1 of the paper.
    """
    n -= n % group_size
    rows = []
    for sigma in track(sigma_2, "simulating regression"):
        errors: dict[str, list[float]] = {"AS": [], "NoAS": []}
        for repeat in range(repeats):
            rng = np.random.default_rng((seed, repeat))
            truth = rng.normal(size=(n_inputs, n_outputs))
            truth /= np.linalg.norm(truth, 2)
            centres = sigma_1 * rng.normal(size=(n // group_size, n_inputs))
            X = np.repeat(centres, group_size, axis=0) + sigma * rng.normal(size=(n, n_inputs))
            found = LinearEstimates.from_groups(X, X @ truth + sigma_e * rng.normal(size=(n, n_outputs)), group_size)
            best = np.linalg.norm(found.oracle - truth)
            errors["AS"].append(float(np.linalg.norm(found.assigned - truth) / best))
            errors["NoAS"].append(float(np.linalg.norm(found.without - truth) / best))
        rows += [summarise_errors(sigma, name, values) for name, values in errors.items()]
    return _make_frame(rows)


def simulate_classification(
    sigma_2: Sequence[float] = SIGMAS,
    *,
    n: int = 1000,
    group_size: int = 10,
    n_inputs: int = 10,
    n_labels: int = 5,
    sigma_1: float = 0.3,
    repeats: int = 10,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the share of wrong labels of both estimators relative to the oracle's, over `sigma_2`.

    A sample is the embedding of a label with noise sigma_1, its label the one nearest to it. In each group one label is
    e^sigma_2 times as likely as each other: 0 mixes all labels evenly, large values give groups of a single label.
    The paper's sigma_1 = 0.1 makes classes that no estimator ever confuses, so that there is no error to compare.
    """
    n -= n % group_size
    rows = []
    for sigma in track(sigma_2, "simulating classification"):
        wrong: dict[str, list[float]] = {"oracle": [], "AS": [], "NoAS": []}
        for repeat in range(repeats):
            rng = np.random.default_rng((seed, repeat))
            truth = rng.normal(size=(n_labels, n_inputs))
            truth /= np.linalg.norm(truth, axis=1, keepdims=True)
            chances = np.ones((n // group_size, n_labels))
            favourite = rng.integers(n_labels, size=len(chances))
            chances[np.arange(len(chances)), favourite] = np.exp(sigma)
            X, labels = draw_samples(np.repeat(chances, group_size, axis=0), truth, sigma_1, rng)
            found = LinearEstimates.from_groups(X, np.eye(n_labels)[labels], group_size)
            new, expected = draw_samples(np.ones((10_000, n_labels)), truth, sigma_1, rng)
            for name, model in (("oracle", found.oracle), ("AS", found.assigned), ("NoAS", found.without)):
                wrong[name].append(float(np.mean((new @ model).argmax(axis=1) != expected)))
        best = max(float(np.mean(wrong.pop("oracle"))), 1e-4)
        rows += [summarise_errors(sigma, name, np.array(values) / best) for name, values in wrong.items()]
    return _make_frame(rows)


def draw_samples(
    chances: np.ndarray, truth: np.ndarray, noise: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return one sample per row of `chances`, near the embedding of a label drawn with these odds, and its label."""
    edges = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
    drawn = (rng.random((len(edges), 1)) > edges[:, :-1]).sum(axis=1)
    X = truth[drawn] + noise * rng.normal(size=(len(drawn), truth.shape[1]))
    return X, (X @ truth.T).argmax(axis=1)


def summarise_errors(sigma: float, estimator: str, errors: Iterable[float]) -> dict[str, Any]:
    """Return the row of one estimator: mean and deviation of its relative errors."""
    values = np.asarray(list(errors))
    return {"sigma_2": sigma, "estimator": estimator, "relative_error": values.mean(), "deviation": values.std()}


def _make_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows)


def compare_variants(
    dataset: Dataset,
    grouped: Split,
    *,
    learner: str = "one_vs_all",
    learner_params: str = "",
    variants: Sequence[str] = USUAL_VARIANTS,
    seed: int = 0,
    **settings: Any,
) -> pd.DataFrame:
    """Return one row per variant: precision on the test split after learning from the training documents `grouped`."""
    from xcwork.methods.eagle.method import Eagle

    rows = []
    for name in variants:
        params = {"learner": learner, "learner_params": learner_params, "seed": seed}
        model = Eagle.from_params(params | settings | VARIANTS[name])
        started = time.perf_counter()
        assignment = model.assign_labels(grouped)
        prepared = time.perf_counter()
        trained = model.make_learner().fit(assignment.train)
        done = time.perf_counter()
        metrics = evaluate_topk(
            trained.predict(dataset.test, k=5),
            dataset.test.Y,
            frequencies=dataset.train.label_frequencies,
            n_train=len(dataset.train),
            propensity=dataset.propensity,
        )
        rows.append(
            {
                "method": name,
                **{f"P@{k}": metrics[f"P@{k}"] for k in (1, 3, 5)},
                "assignment_precision": float("nan") if assignment.precision is None else 100 * assignment.precision,
                "pairs": assignment.train.Y.nnz,
                "preprocessing_seconds": prepared - started,
                "training_seconds": done - prepared,
            }
        )
    return _make_frame(rows)


def measure_precision_loss(
    dataset: Dataset,
    *,
    sizes: Sequence[int] = (),
    depths: Sequence[int] = (),
    noises: Sequence[float] = (),
    depth: int = 4,
    seed: int = 0,
    **options: Any,
) -> pd.DataFrame:
    """Return how much of the oracle's P@1 is lost, in percent of it, over group size, cluster depth and heterogeneity.

    `noises` make clusters of the given `depth` less homogeneous. Further options go to `compare_variants`.
    """
    import pandas as pd

    settings: list[tuple[str, float, Split]] = []
    settings += [("group size", size, draw_random_groups(dataset.train, size, seed=seed)) for size in sizes]
    settings += [("depth", d, cluster_into_groups(dataset.train, d, seed=seed)) for d in depths]
    settings += [("noise", s, cluster_into_groups(dataset.train, depth, noise=s, seed=seed)) for s in noises]
    oracle = compare_variants(dataset, dataset.train, variants=["oracle"], seed=seed, **options)["P@1"][0]
    others = [name for name in USUAL_VARIANTS if name != "oracle"]
    frames = []
    for factor, value, grouped in track(settings, "comparing groupings"):
        frame = compare_variants(dataset, grouped, variants=others, seed=seed, **options)
        frame.insert(0, "factor", factor)
        frame.insert(1, "value", value)
        frame["loss"] = 100 * (oracle - frame["P@1"]) / oracle
        frames.append(frame)
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def make_label_images(
    dataset: Dataset, *, group_size: int = 4, steps: Sequence[int] = (0, 20), most: int | None = None, seed: int = 0
) -> dict[str, np.ndarray]:
    """Return the embedding of every label as an image (n_labels, height, width), after so many steps, and the true one.

    What all images have in common is subtracted, so values lie on both sides of zero. `most` uses the first training
    images only.
    """
    from xcwork.methods.common.grlr import assign_labels

    shape = dataset.features.image_shape
    if shape is None:
        raise DataError("only embeddings of images can be drawn", remedy="load idx files, such as MNIST")
    train = dataset.train if most is None else dataset.train.take(range(min(most, len(dataset.train))))
    groups = collect_groups(draw_random_groups(train, group_size, seed=seed))
    single = collect_groups(draw_random_groups(train, 1))
    found = {"truth": assign_labels(train.X, single, steps=0, keep=None, seed=seed)}
    found |= {f"{n} steps": assign_labels(train.X, groups, steps=n, careful=False, keep=None, seed=seed) for n in steps}
    return {name: result.embeddings.toarray().reshape(-1, *shape) for name, result in found.items()}
