"""SiameseXML: documents and labels share one encoder, and every label has a classifier that starts from its text.

Short texts with label texts are its home. The encoder (`encoder`) sums token embeddings and normalises; training has
four modules:

I.   The encoder learns to bring labels and their documents together, against the hardest of a batch (`module_one`).
II.  Labels get smoothed text embeddings and centroids; searches over them find candidates in about log L (`graphs`).
III. Classifiers w_l = N(z̃_l + η_l) start at η = 0, where they equal the label's text.
IV.  η and a residual block learn against each document's hard negatives; with `plus` the tokens too (`classifiers`).

Prediction searches candidates and adds the scores of each with weights learned on validation documents (`scores`,
`fusion`). A label added later is known by its text at once. Every score is linear in the tokens once the activations of
this document are given, therefore explanations add up exactly (`explain`).

Cost: encoding O(tokens * D + D²); a batch of module I O(B² D), of module IV O(B D * labels of the batch); prediction
O(D² + D log L) a document. Memory: three vectors and the weights of some words a label, one
vector a training document.

Differences from the paper (camera-ready; `siamesexml.supplement()` gives the parameters of the earlier variant):

- Candidates of all searches are united and every score is computed exactly; scores add linearly, so that they can be
  explained; nearest documents, words in common and a second classifier over the words themselves (`terms`) take part.
  Weights depend on how frequent a label is and come from validation documents taken from the training part, which
  afterwards serve in centroids and searches. `alpha` asks for the paper's sum of three instead.
- `likelihood=logistic` lets module IV let go of pairs that are right already, which helps where labels are frequent.
  Its step size falls in a line rather than by half once, and some tokens are left out at random.
- The residual block starts as the identity (radius 0), so that Lemma 2's assumption L²(0) = L¹ holds.
- Tokens start from the data's own singular vectors; a file of word vectors can replace them.

Reference: Dahiya et al., SiameseXML: siamese networks meet extreme classifiers with 100M labels, ICML 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from xcwork.compute.device import CHOICES
from xcwork.core.split import Split
from xcwork.errors import ConfigError, DataError
from xcwork.methods.base import Capabilities, Explanation, Method, TopK, param
from xcwork.methods.common.checkpoints import TrainingProgress
from xcwork.methods.common.epochs import PATIENCE_HELP
from xcwork.methods.layout import Check, array, arrays, history, listing, matrix, number, record, stored
from xcwork.methods.siamesexml import initial
from xcwork.methods.siamesexml.graphs import GRAPHS, graphs_of
from xcwork.methods.siamesexml.tokens import Tokens
from xcwork.progress import batches
from xcwork.sparse import enlarge

if TYPE_CHECKING:  # torch takes long to import, and a list of methods does without it
    from xcwork.methods.siamesexml.diagnostics import Histogram
    from xcwork.methods.siamesexml.runtime import Runtime

BATCH = 1024  # documents scored between two steps of progress


@dataclass(kw_only=True, eq=False)
class SiameseXML(Method):
    """Siamese encoder of documents and labels, with a classifier for every label."""

    dimension: int = param(256, "length of an embedding", low=1, high=4096)
    epochs: int = param(30, "most epochs of the encoder (module I)", low=0)
    classifier_epochs: int = param(20, "most epochs of the classifiers (module IV); 0 leaves them out", low=0)
    plus: bool = param(True, "SiameseXML++: classifiers and tokens learn together")
    members: int = param(1, "encoders trained from different seeds and averaged; 3 is SiameseXML-3", low=1, high=20)
    shortlist: int = param(300, "candidates from each search", low=1)
    neighbours: int = param(20, "training documents that vote", low=1, high=10_000)
    terms: bool = param(True, "classifiers over the words themselves, too")
    tail: float = param(0.2, "how much rarer labels are preferred among likely ones", low=0.0, high=2.0)
    alpha: float | None = param(
        None, "the paper's weight of the classifiers; none: weights are learned", low=0.0, high=1.0
    )
    search: str = param("auto", "search all vectors or a graph of them", choices=("auto", "exact", "hnsw"))
    start: str = param("svd", "where token embeddings start", choices=initial.CHOICES)
    vectors: str | None = param(None, "file of word vectors to start from instead; sets the dimension")
    batch: int = param(1024, "labels in a batch of module I", low=1, advanced=True)
    rate: float = param(0.005, "step size of module I", low=1e-7, high=1.0, advanced=True)
    hard_negatives: int = param(1, "hardest negatives of a row in module I", low=1, advanced=True)
    frequency_power: float = param(0.45, "labels are drawn by frequency to this", low=0.0, high=1.0, advanced=True)
    offline_negatives: bool = param(False, "one negative comes from a search of all documents", advanced=True)
    activation: str = param("gelu", "activation of the encoder", choices=("gelu", "relu", "identity"), advanced=True)
    nu: float = param(0.0, "ν of the normalisation N_ν; 0 is the plain one", low=0.0, high=1.0, advanced=True)
    graphs: str = param("text,centroids,documents", "searches for candidates", advanced=True)
    correlated: int = param(10, "labels whose texts smooth a label's own", low=0, high=1000, advanced=True)
    classifier_batch: int = param(256, "documents in a batch of module IV", low=1, advanced=True)
    classifier_rate: float = param(0.002, "step size of module IV", low=1e-7, high=1.0, advanced=True)
    token_rate: float = param(1.0, "step size of tokens in module IV, relative to it", low=0.0, advanced=True)
    negatives: int = param(500, "hard negatives of a document in module IV", low=1, advanced=True)
    likelihood: str = param(
        "exponential",
        "likelihood of module IV; logistic suits frequent labels",
        choices=("exponential", "logistic"),
        advanced=True,
    )
    c: float = param(0.75, "c of the classifiers' likelihood c exp(d (v - 1))", low=0.01, high=0.999, advanced=True)
    d: float = param(3.0, "d of the classifiers' likelihood", low=0.1, high=100.0, advanced=True)
    margin: float = param(0.05, "loss over d below which a negative no longer counts", low=0.0, advanced=True)
    dropout: float = param(0.5, "dropout on the residual branch", low=0.0, high=0.95, advanced=True)
    token_dropout: float = param(0.2, "tokens left out at random in module IV", low=0.0, high=0.95, advanced=True)
    C: float = param(1.0, "weight of the errors of classifiers over words", low=1e-4, high=1e4, advanced=True)
    patience: int = param(6, PATIENCE_HELP, low=1, advanced=True)
    held_out: float = param(0.05, "share of the documents that validate", low=0.0, high=0.5, advanced=True)
    device: str = param("auto", "where tensors live", choices=CHOICES, advanced=True, at_prediction=True)

    title = "SiameseXML"
    paper = "Dahiya et al., SiameseXML: siamese networks meet extreme classifiers with 100M labels, ICML 2021"
    capabilities = Capabilities(
        zero_shot=True, exact_explanations=True, gpu=True, resumable=True, needs_label_text=True
    )

    @property
    def layout(self) -> dict[str, Check]:  # type: ignore[override]
        """N_ν adds a dimension each time it is applied: once to embeddings, twice to classifiers."""
        width, finished = ("embedding+1", "embedding+2") if self.nu > 0 else ("embedding", "embedding")
        residual = record(R=array(width, width), bias=array(width), radius=array(1), left=array(width))
        member = record(
            encoder=record(table=array("tokens", "embedding"), residual=residual),
            classifiers=array("labels", finished),
            eta_norms=array(2),
            text=array("labels", width),
            centroids=array("labels", width),
            documents=array("documents", width),
            correlation=matrix("labels", "labels"),
            indices=arrays,
        )
        return stored(
            Z_=matrix("labels", "tokens"),
            label_tokens_=array("label_features", kind="i", below="tokens"),
            Y_=matrix("documents", "labels"),
            weights_=array(7, 3),
            unseen_bonus_=number,
            terms_=matrix("tokens", "labels"),
            terms_bias_=array("labels"),
            curves_=history,
            members_=listing(member, "members"),
        )

    def validate(self) -> None:
        super().validate()
        unknown = set(graphs_of(self)) - set(GRAPHS)
        if unknown or not graphs_of(self):
            raise ConfigError(f"graphs must name some of {', '.join(GRAPHS)}, got {self.graphs!r}")

    def _fit(self, train: Split) -> None:
        if not self.label_frequencies_.any():
            raise DataError("no training document carries a label, so there is nothing to learn")
        self._runtime = None
        labels = train.labels
        self.label_tokens_ = Tokens.of(train.features, labels.features, labels.Z.shape[1]).of_label_feature
        self.Z_ = self.tokens.of_labels(labels.Z)
        self.Y_ = train.Y
        from xcwork.methods.siamesexml.training import train_members

        progress = TrainingProgress(self._checkpoint, train, self.get_params())
        trained = train_members(self, self.tokens, train, self.Z_, progress)
        self.members_ = [member.state() for member in trained.members]
        self.terms_, self.terms_bias_ = trained.terms.weights, trained.terms.bias
        self.weights_, self.unseen_bonus_ = trained.fusion.table, trained.fusion.unseen_bonus
        self.curves_ = trained.curves

    @property
    def tokens(self) -> Tokens:
        """How features become rows of the token table."""
        return Tokens(self.features_.size, self.label_tokens_)

    @property
    def runtime(self) -> Runtime:
        """The trained model as objects; made from the learned arrays when it is first needed."""
        self._check_fitted()
        if self._runtime is None:
            from xcwork.methods.siamesexml.runtime import Runtime

            self._runtime = Runtime(self)
        return self._runtime

    def _predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        return TopK.concatenate([self.runtime.best(x, k, among) for x in batches(X, BATCH, "scoring")])

    def _explain(self, x: sparse.csr_array, label: int) -> Explanation:
        from xcwork.methods.siamesexml.explanation import explain

        return explain(self, x, label)

    def _add_labels(self, Z: sparse.csr_array) -> None:
        rows = self.tokens.of_labels(Z)
        self.members_ = [member.extended(rows) for member in self.runtime.members]
        terms = self.runtime.terms.extended(rows.shape[0])
        self.terms_, self.terms_bias_ = terms.weights, terms.bias
        self.Z_ = sparse.csr_array(sparse.vstack([self.Z_, rows]))
        self.Y_ = enlarge(self.Y_, (self.Y_.shape[0], self.Z_.shape[0]))
        self._runtime = None

    def label_embeddings(self) -> np.ndarray:
        """The classifiers: labels that suit the same documents lie close together."""
        self._check_fitted()
        return self.members_[0]["classifiers"]

    def diagnostics(self, split: Split) -> dict[str, float]:
        """Recall of the candidates, Lemma 1's bound, the norms of theorem 3, cosines of relevant and other pairs."""
        from xcwork.methods.siamesexml.diagnostics import measurements

        return measurements(self, split)

    def cosine_histogram(self, split: Split, bins: int = 40) -> Histogram:
        """How the cosines of document and classifier are distributed for relevant pairs and for hard negatives."""
        from xcwork.methods.siamesexml.diagnostics import cosine_histogram

        return cosine_histogram(self, split, bins)

    _runtime: ClassVar[Any] = None  # a `Runtime`, once it is needed


def supplement(**params: Any) -> SiameseXML:
    """The earlier variant of the paper's supplement: two searches, ReLU, N_ν, offline negatives, frozen tokens."""
    variant = {
        "graphs": "text,centroids",
        "activation": "relu",
        "nu": 0.1,
        "offline_negatives": True,
        "hard_negatives": 3,
        "plus": False,
        "correlated": 0,
        "terms": False,
    }
    return SiameseXML.from_params(variant | params)
