"""SiameseXML's theory on a model that was trained: lemmas 1 and 2, and the bounds of theorems 3 to 5.

- `compare_by_band`: lemma 1 label by label, in bands of frequency. How far has training moved a classifier from the
  text of its label, how much less likely is the text than a perfect one (the gap ε), and how far do scores move?
- `measure_lemma_2`: the loss of the classifiers where they start, at the texts, and where training ends. Lemma 2 says
  that the end is not above the start.
- `compute_bound`: P of theorem 4 and Q of theorem 5 with the universal constant C = 1, from the norms of a model's
  parameters, and what they add to the risk on N documents. The risk is at most one, so a bound above one says nothing.
- `follow_bounds`: these numbers over the epochs of module I.

The proofs suppose N_ν; for the plain normalisation, which is not Lipschitz at zero, ν is taken as `PLAIN_NU`.

Reference: Dahiya et al., SiameseXML, ICML 2021, lemmas 1 and 2; supplement E.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xcwork.core.bands import Bands, make_shot_bands
from xcwork.core.dataset import Dataset
from xcwork.core.split import Split
from xcwork.data.synthetic import make_synthetic
from xcwork.methods.siamesexml.loss import Likelihood
from xcwork.methods.siamesexml.method import SiameseXML
from xcwork.methods.siamesexml.model import SiameseXMLModel
from xcwork.methods.siamesexml.scores import Member
from xcwork.progress import track
from xcwork.studies.study_outcome import StudyOutcome

if TYPE_CHECKING:
    import pandas as pd

PLAIN_NU = 0.1  # that stands for ν where N is plain
GAMMA = 0.5  # of the ramp
MAX_DOCUMENTS = 500  # whose scores are compared
SMALL_MODEL = {"dimension": 16, "classifier_epochs": 4, "terms": False, "start": "random"}
SMALL_EPOCHS = (1, 3, 6)


def compare_by_band(model: SiameseXML, split: Split, bands: Bands | None = None) -> pd.DataFrame:
    """Return lemma 1 in bands of frequency: cosine of text and classifier, gap, bound, and what scores really do."""
    import pandas as pd

    learned = _get_model(model)
    bands = make_shot_bands(learned.label_frequencies) if bands is None else bands
    likelihood = Likelihood(learned.params.c, learned.params.d)
    labels, text, classifiers = _embed_labels(learned)
    cosine = np.clip((text * classifiers).sum(axis=1), -1, 1)
    gap = likelihood.c * -np.expm1(likelihood.d * (cosine - 1))
    bound = np.sqrt(2 * likelihood.inverse_lipschitz * gap)
    documents = _embed_documents(learned, split)
    moved = np.abs(documents @ (classifiers - text).T)  # (n_documents, n_labels)
    frame = pd.DataFrame(
        {
            "band": [bands.names[number] for number in bands.of_label[labels]],
            "cosine": cosine,
            "gap ε": gap,
            "bound": bound,
            "largest change of a score": moved.max(axis=0),
            "mean change of a score": moved.mean(axis=0),
        }
    )
    means = frame.groupby("band", sort=False).mean()
    counts = frame.groupby("band", sort=False).size()
    broken = (frame["largest change of a score"] > frame["bound"] + 1e-5).groupby(frame["band"], sort=False).sum()
    means.insert(0, "labels", counts)
    return means.assign(broken=broken).reindex([name for name in bands.names if name in means.index]).reset_index()


def measure_lemma_2(model: SiameseXML, train: Split) -> dict[str, float]:
    """Return the loss per document of all labels with the texts as classifiers, and with the trained classifiers."""
    learned = _get_model(model)
    likelihood = Likelihood(learned.params.c, learned.params.d)
    labels, text, classifiers = _embed_labels(learned)
    sample = train if len(train) <= MAX_DOCUMENTS else train.take(np.arange(MAX_DOCUMENTS))
    documents = _embed_documents(learned, sample)
    positive = sample.Y[:, labels].toarray() > 0
    losses = []
    for weights in (text, classifiers):
        v = np.clip(documents @ weights.T, -1, 1)
        right = -math.log(likelihood.c) + likelihood.d * (1 - v)
        wrong = -np.log1p(-likelihood.c * np.exp(likelihood.d * (v - 1)))
        losses.append(float(np.where(positive, right, wrong).sum(axis=1).mean()))
    return {"before": losses[0], "after": losses[1]}


def compute_bound(model: SiameseXML, n_documents: int, terms_per_document: float) -> dict[str, float]:
    """Return P and Q with C = 1 and what they add to the risk, P ln N / (γ √N) and Q ln N / (γ √N)."""
    learned = _get_model(model)
    encoder = _get_member(learned).encoder.to_state()
    eta = _get_member(learned).eta_norms
    nu = learned.params.nu or PLAIN_NU
    E = np.abs(encoder["table"].T.astype(np.float64))  # the paper's E is (dimension, n_tokens)
    residual = encoder["residual"]
    R = residual["R"].astype(np.float64)
    R = R * (float(residual["radius"][0]) / np.linalg.norm(R, 2))  # the matrix that really acts
    dimension, n_tokens = E.shape
    # ‖·‖∞,₁ sums the largest entry of every row, ‖·‖₁,₁ all entries.
    of_R = math.sqrt(dimension * math.log(dimension)) * math.sqrt(np.abs(R).max(axis=1).sum() * np.abs(R).sum())
    of_E = math.sqrt(terms_per_document) * math.log(dimension * n_tokens) * np.linalg.norm(R, 2)
    of_E *= math.sqrt(E.max(axis=1).sum() * E.sum())
    P = (of_R + of_E / nu) / nu
    Q = (math.log(dimension * learned.n_labels) * math.sqrt(float(eta[0]) * float(eta[1])) + P) / nu
    scale = math.log(n_documents) / (GAMMA * math.sqrt(n_documents))
    return {"P": float(P), "Q": float(Q), "P adds": float(scale * P), "Q adds": float(scale * Q)}


def follow_bounds(train: Split, test: Split, epochs: Sequence[int] = (1, 5, 10, 20), **params: Any) -> pd.DataFrame:
    """Return P, Q and lemma 2's losses after so many epochs of module I, each from a training of its own."""
    import pandas as pd

    terms = train.X.nnz / max(1, len(train))
    rows = []
    for number in track(epochs, "following the bounds"):
        model = SiameseXML.from_params(params | {"epochs": number}).fit(train)
        row = {"epochs": number, **compute_bound(model, len(train), terms), **measure_lemma_2(model, train)}
        best = model.predict(test, k=1).ids[:, 0]
        hits = test.Y[np.arange(len(test)), np.maximum(best, 0)]
        rows.append(row | {"P@1": 100 * float(np.asarray(hits).mean())})
    return pd.DataFrame(rows)


def check_lemma_2(seed: int = 0) -> StudyOutcome:
    """Train a small model, with frozen tokens and without, and compare the loss before and after module IV."""
    data = _make_data(seed)
    losses = {}
    for plus in (False, True):
        changed = {"epochs": SMALL_EPOCHS[-1], "plus": plus, "seed": seed}
        model = SiameseXML.from_params(SMALL_MODEL | changed).fit(data.train)
        losses["learn on" if plus else "frozen"] = measure_lemma_2(model, data.train)
    frozen, free = losses["frozen"], losses["learn on"]
    return StudyOutcome(
        all(found["after"] <= found["before"] for found in losses.values()),
        f"With the texts as classifiers the loss per document is {frozen['before']:.2f}, with trained classifiers "
        f"{frozen['after']:.2f}; where tokens learn on, {free['before']:.2f} and {free['after']:.2f}.",
        [{"tokens": tokens, **found} for tokens, found in losses.items()],
    )


def check_generalisation_bounds(seed: int = 0) -> StudyOutcome:
    """Compute P and Q of a small model over the epochs of module I, with the universal constant as one."""
    data = _make_data(seed)
    frame = follow_bounds(data.train, data.test, epochs=SMALL_EPOCHS, seed=seed, **SMALL_MODEL)
    first, last = frame.iloc[0], frame.iloc[-1]
    return StudyOutcome(
        bool((frame["P adds"] > 0).all()),
        f"With C = 1 and {len(data.train)} documents, P adds {first['P adds']:,.0f} to the risk after one epoch and "
        f"{last['P adds']:,.0f} after six, Q {first['Q adds']:,.0f} and {last['Q adds']:,.0f}, where the risk is at "
        f"most one. P@1 goes from {first['P@1']:.1f} to {last['P@1']:.1f}.",
        frame.to_dict("records"),
    )


def _make_data(seed: int) -> Dataset:
    return make_synthetic(n_documents=200, n_labels=30, n_topics=4, labels_per_document=2, seed=seed)


def _get_model(model: SiameseXML) -> SiameseXMLModel:
    learned = model.model_
    assert isinstance(learned, SiameseXMLModel)
    return learned


def _get_member(learned: SiameseXMLModel) -> Member:
    return learned.ranker.members[0]


def _embed_labels(learned: SiameseXMLModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the labels with text and documents, the embeddings of their texts, and their classifiers."""
    member = _get_member(learned)
    labels = np.flatnonzero((learned.label_frequencies > 0) & (np.diff(learned.Z.indptr) > 0))
    text = member.encoder.finish(member.encoder.encode(learned.Z[labels])).astype(np.float64)
    return labels, text, member.classifiers[labels].astype(np.float64)


def _embed_documents(learned: SiameseXMLModel, split: Split) -> np.ndarray:
    sample = split if len(split) <= MAX_DOCUMENTS else split.take(np.arange(MAX_DOCUMENTS))
    encoder = _get_member(learned).encoder
    return encoder.finish(encoder.encode(learned.ranker.tokens.map_documents(sample.X))).astype(np.float64)
