"""ZestXML: a sparse bilinear model that predicts labels it has never seen and can say exactly why.

A document x and a label l, described by terms z_l, meet in pairs of a document feature and a label feature:

    s(x, l) = bias_l + Σ x_c W_cd z_ld + m Σ √x_c idf_c z_lc + Σ x_c V_lc
                       learned pairs      terms in common       memorised for this label

Training has two steps. XHTP finds, in closed form, the few pairs (c, d) for which "the document has c and the label
has d" makes relevance probable (`xhtp`); ranking by them alone is the variant `xhtp`. Refinement then learns weights
against the labels on a document's shortlist: the variant `tuned`. As in the paper (`refined=pairs`), the weights of
these pairs are learned (`refine`); by default they stay, and each seen label learns weights of its own from what they
leave open (`common.pair_svm`). A label seen in training has an identity of its own besides its terms; an unseen label
has only its terms, so new labels can join at any time.

The score is a sum over pairs, so the parts of an explanation are the terms of that sum: exact, not an approximation.

Cost: XHTP one addition for each (document feature, label feature of a relevant label); refinement
O(passes * documents * shortlist * features of a document); prediction O(features * K + candidates * terms of a label)
per document. Memory: the data, K numbers for each feature, and the shortlists.

The preset `paper` is the paper's method: K pairs for each document feature, all of them refined with an L2 term against
one shortlist for seen and unseen labels, and the final score 0.9 exp(-max(0, 1 - m)²) + 0.1 match, m being the sum over
pairs; its solver is Adagrad instead of dual descent. The default differs:

- Own weights are not restricted to K voters but solved for all features and pruned by size; they start from prior,
  pairs and exact matches rather than from nothing.
- Exact matches count by √x and idf, and enter as one more sum of pairs, so that the score is a plain sum.
  How much they count for seen labels is learned: nothing where label texts mislead (`match_weight`).
- The shortlist has other sources than pairs: labels whose documents resemble the document in training, labels with a
  high own score in prediction. Without them, labels whose text says little are never listed.
- Unseen labels borrow terms from the documents of seen labels with a similar text (`borrow`).
- Unseen labels have a shortlist of their own and a scale of their own, calibrated on labels with one document
  (`unseen`); in the reference program more than half of them are lost in the shortlist.

Reference: Gupta, Bohra, Prabhu, Purohit and Varma, Generalized zero-shot extreme multi-label learning, KDD 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xcwork.core.data_sizes import DataSizes
from xcwork.core.split import Split
from xcwork.errors import Cancelled, ConfigError
from xcwork.kernels.machine_sizes import estimate_own_bytes
from xcwork.methods.base import Capabilities, Method, Preset, device_param, param
from xcwork.methods.common.checkpoints import Checkpoint, TrainingProgress
from xcwork.methods.common.epochs import PATIENCE_HELP
from xcwork.methods.common.packed_matrix import round_weights
from xcwork.methods.zestxml.label_features import LabelFeatures, compute_idf
from xcwork.methods.zestxml.model import ZestXMLModel
from xcwork.methods.zestxml.training import Refinement, Roles, count_pairs
from xcwork.sparse import normalise_rows


@dataclass(kw_only=True, eq=False)
class ZestXML(Method):
    """Sparse bilinear zero-shot model with exact explanations."""

    variant: str = param(
        "tuned", "whether weights are refined (tuned) or stay as the closed form gives them", choices=("tuned", "xhtp")
    )
    pairs: int = param(40, "number of partners kept for each document feature and each label feature", low=1)
    refined: str = param(
        "own",
        "what is refined: own weights of seen labels, or all kept pairs as in the paper (pairs)",
        choices=("own", "pairs"),
    )
    shortlist: int = param(150, "number of seen labels that XHTP lists for each document", low=1)
    nearest_shortlist: int = param(
        100, "number of labels with the nearest mean document that a training document also learns from", low=0
    )
    own_shortlist: int = param(100, "number of labels that own weights list for each document", low=0)
    unseen_shortlist: int = param(50, "number of unseen labels scored exactly for each document", low=0)
    C: float = param(1.0, "weight of the errors against the size of the weights", low=1e-4, high=1e4)
    loss: str = param("squared hinge", "loss of the refinement", choices=("squared hinge", "logistic"))
    epochs: int = param(0, "maximum number of passes over the documents to refine shared pairs", low=0)
    match_weight: float = param(0.3, "weight of terms in common, at most where it is learned", low=0.0)
    parent_weight: float = param(0.5, "weight of the broader labels' terms beside a label's own, where known", low=0.0)
    borrow: bool = param(True, "whether unseen labels borrow terms from the documents of labels with a similar text")
    prune: float = param(0.03, "size below which own weights are dropped", low=0.0)
    blend: float = param(0.02, "share of the Jaccard index in the value of a pair", low=0.0, high=1.0, advanced=True)
    plain: bool = param(False, "whether XHTP is that of the theorem: real values, no Jaccard index", advanced=True)
    identity_weight: float = param(1.0, "value of a seen label's identity in XHTP", low=0.0, advanced=True)
    smoothing: float = param(
        0.0, "number of pairs added to those that have both features: ε of theorem 1.1", low=0.0, advanced=True
    )
    shift: float = param(
        0.0, "what is taken off the value of every pair: δ of theorem 1.1", low=0.0, high=1.0, advanced=True
    )
    columns: bool = param(True, "whether the best partners of each label feature are kept, too", advanced=True)
    alpha: float = param(
        0.9,
        "share of the refined pairs in the score, beside the match; for refined=pairs",
        low=0.0,
        high=1.0,
        advanced=True,
    )
    trust: float = param(0.3, "factor with which the XHTP weights of shared pairs count", low=0.0, advanced=True)
    shortlister: str = param(
        "auto",
        "way to shortlist: all labels (exact) or only promising ones (lazy)",
        choices=("auto", "exact", "lazy"),
        advanced=True,
    )
    overfetch: int = param(
        10, "number of labels the lazy shortlister fetches for each one it keeps", low=1, advanced=True
    )
    epsilon: float = param(0.001, "value below which pairs are dropped", low=0.0, high=1.0, advanced=True)
    add_missed: bool = param(True, "whether relevant labels that the shortlist missed are learned from", advanced=True)
    max_passes: int = param(
        16,
        "maximum number of passes over the pairs of a label for its own weights",
        low=1,
        advanced=True,
        formerly="passes",
    )
    tolerance: float = param(0.02, "largest change of a pair at which a label is solved", low=1e-6, advanced=True)
    max_weights: int = param(
        30_000, "maximum number of own weights of a label", low=1, advanced=True, formerly="own_weights"
    )
    learning_rate: float = param(
        0.05, "step size of the refinement of shared pairs", low=1e-6, advanced=True, formerly="rate"
    )
    batch_size: int = param(
        256,
        "number of documents in a step of the refinement of shared pairs",
        low=1,
        advanced=True,
        formerly="batch",
    )
    patience: int = param(1, PATIENCE_HELP, low=1, advanced=True)
    validation: float = param(
        0.02,
        "share of the documents kept for stopping and calibration",
        low=0.0,
        high=0.5,
        advanced=True,
        formerly="held_out",
    )
    device: str = device_param()

    title = "ZestXML"
    paper = "Gupta et al., Generalized zero-shot extreme multi-label learning, KDD 2021"
    capabilities = Capabilities(
        zero_shot=True,
        exact_explanations=True,
        gpu=True,
        gpu_training="the counting of XHTP, own weights",
        gpu_prediction="shortlists and scores",
        resumable=True,
        needs_label_text=True,
    )
    model_type = ZestXMLModel
    presets = (
        Preset("quick", {"variant": "xhtp"}),
        Preset(
            "paper",
            {
                "refined": "pairs",
                "shortlist": 100,
                "epochs": 20,
                "match_weight": 0.1,
                "parent_weight": 0.0,
                "blend": 0.01,
                "columns": False,
                "add_missed": False,
                "learning_rate": 0.1,
                "validation": 0.0,
            },
            ours_adds="own weights over all features for labels with documents, labels listed by mean documents and by "
            "own weights, matches by idf inside the sum, terms borrowed for unseen labels and a scale of their own, "
            "relevant labels that the shortlist missed",
        ),
    )

    def validate(self) -> None:
        super().validate()
        if self.variant == "tuned" and self.refined == "pairs" and not self.epochs:
            raise ConfigError("refined=pairs learns nothing in 0 epochs; set epochs, for example to 20")

    def estimate_device_bytes(self, sizes: DataSizes) -> int:
        pairs = sizes.n_documents * (min(self.shortlist, sizes.n_labels) + sizes.labels_per_document)
        return estimate_own_bytes(sizes.n_entries, round(pairs * sizes.terms_per_document))

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> ZestXMLModel:
        facts = self._collect_facts(train)
        params = facts["params"]
        X = normalise_rows(train.X)
        idf = compute_idf(X)
        label_features = LabelFeatures.from_labels(
            train.labels,
            train.features,
            train.label_frequencies,
            idf,
            identity_weight=self.identity_weight,
            parent_weight=self.parent_weight,
        )
        roles = Roles.from_split(train, params)
        statistics = count_pairs(X, train.Y, label_features.Z, params)
        refined = None
        if self.variant == "tuned":
            progress = TrainingProgress(checkpoint, train, dict(params))
            refinement = Refinement(params, X, train.Y, train.filter_pairs, label_features, roles, progress)
            try:
                refined = refinement.run(statistics)
            except Cancelled:
                progress.save()
                raise
        return ZestXMLModel(
            **facts,
            **vars(label_features),
            idf=idf,
            voters=round_weights(statistics.voters),
            voter_counts=statistics.counts,
            documents_with=statistics.documents_with,
            labels_with=statistics.labels_with,
            refined=None if refined is None else refined.round(),
        )

    def list_pairs(
        self, *, document_term: str | None = None, label_term: str | None = None, k: int = 20
    ) -> list[dict[str, Any]]:
        """Return the strongest pairs of one document term or of one label term: what the model knows about it."""
        model = self._get_current_model()
        assert isinstance(model, ZestXMLModel)
        return model.list_pairs(document_term, label_term, k)
