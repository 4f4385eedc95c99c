"""SiameseXML: documents and labels share one encoder, and every label has a classifier that starts from its text.

It suits short texts with label texts. The encoder f (`encoder`) sums token embeddings and normalises; E adds a residual
block for documents. Without the parts that are ours, the score of a label is the paper's sum

    s(x, l) = α w_l·E(x) + (1 - α) (z̃_l + v_l)·E(x)
    w_l     = N(z̃_l + η_l),  N(u) = u / ‖u‖

of its classifier w, its smoothed text z̃ and the centroid v of its documents. Four modules learn it:

- I. The encoder learns to bring labels and their documents together, against the hardest of a batch
  (`encoder_training`; its loss is `loss.compute_encoder_loss`).
- II. Labels get smoothed text embeddings and centroids; searches over them find candidates in about log L
  (`neighbourhood`).
- III. Classifiers w_l start at η = 0, where they equal the label's text.
- IV. η and a residual block learn against each document's hard negatives; with `plus` the tokens too
  (`classifier_training`; its loss is `loss.compute_classifier_loss`).

Prediction searches candidates and adds the scores of each with learned weights (`scores`, `fusion`). A label added
later is known by its text immediately. Scores are linear in the tokens once the activations of this document are given,
therefore explanations add up exactly (`explanation`).

Cost: encoding O(tokens * D + D²); a batch of module I O(B² D), of module IV O(B D * its labels); prediction O(D² +
D log L) per document. Memory: three vectors and some word weights per label, one vector per training document.

Differences from the paper (camera-ready; `make_supplement_variant` gives the earlier variant):

- Candidates of all searches are united and scored exactly; scores add linearly, so that they can be explained; nearest
  documents, words in common and a second classifier over the words (`word_classifiers`) take part. Weights depend on
  the frequency of a label and come from validation documents of the training split. `alpha` asks for the paper's sum.
- `likelihood=logistic` lets module IV let go of pairs that are right already, which helps where labels are frequent.
  Its step size falls in a line rather than by half once, and some tokens are left out at random.
- The residual block starts as the identity, so that Lemma 2's assumption L²(0) = L¹ holds; tokens start from the
  data's own singular vectors or from a file of word vectors.
- `start=sentence` takes f(x) and f(z) from a frozen sentence encoder (extra `encoders`, or a folder in `encoder`) and
  leaves out module I; modules II to IV are the same, with η and the residual block to learn. It helps where labels have
  few documents and texts are in the encoder's language. Explanations of that part leave out a word at a time and are
  approximate; `terms`, `words` and the votes of documents stay exact.

Reference: Dahiya et al., SiameseXML: siamese networks meet extreme classifiers with 100M labels, ICML 2021.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scipy import sparse

from xcwork.compute.parallel import multiply_on_one_thread
from xcwork.core.data_sizes import DataSizes
from xcwork.core.explanation import Explanation
from xcwork.core.split import Split
from xcwork.errors import ConfigError
from xcwork.kernels.machine_sizes import estimate_own_bytes
from xcwork.methods.base import Capabilities, Method, Preset, device_param, param
from xcwork.methods.common.checkpoints import Checkpoint, TrainingProgress
from xcwork.methods.common.epochs import PATIENCE_HELP
from xcwork.methods.common.sentence_rows import read_one_text
from xcwork.methods.inputs import Documents
from xcwork.methods.params import precision_param
from xcwork.methods.siamesexml.initial_embeddings import SENTENCE, TABLE_SOURCES
from xcwork.methods.siamesexml.model import SiameseXMLModel
from xcwork.methods.siamesexml.neighbourhood import GRAPHS, read_graphs
from xcwork.methods.siamesexml.token_map import TokenMap, split_columns

if TYPE_CHECKING:  # torch takes long to import, and a list of methods does without it
    from xcwork.methods.siamesexml.diagnostics import CosineHistogram


CAPABILITIES = Capabilities(
    zero_shot=True,
    exact_explanations=True,
    gpu=True,
    gpu_training="encoder, classifiers, word classifiers",
    gpu_prediction="embeddings of documents",
    resumable=True,
    needs_label_text=True,
)


class StartCapabilities:
    """What it can do depends on where embeddings come from: those of a sentence encoder are explained approximately."""

    def __get__(self, method: SiameseXML | None, cls: type[SiameseXML]) -> Capabilities:
        if method is None or method.start != SENTENCE:
            return CAPABILITIES
        return replace(CAPABILITIES, exact_explanations=False, reads_text=True)


@dataclass(kw_only=True, eq=False)
class SiameseXML(Method):
    """Siamese encoder of documents and labels, with a classifier for every label."""

    dimension: int = param(256, "length of an embedding", low=1, high=4096)
    epochs: int = param(30, "maximum number of epochs of the encoder (module I)", low=0)
    classifier_epochs: int = param(
        20, "maximum number of epochs of the classifiers (module IV); 0 leaves them out", low=0
    )
    plus: bool = param(True, "whether classifiers and tokens learn together (SiameseXML++)")
    members: int = param(
        1, "number of encoders trained from different seeds and averaged; 3 is SiameseXML-3", low=1, high=20
    )
    shortlist: int = param(300, "number of candidates from each search", low=1)
    neighbours: int = param(20, "number of training documents that vote", low=1, high=10_000)
    terms: bool = param(True, "whether there are classifiers over the words themselves, too")
    tail: float = param(0.2, "preference of rarer labels among likely ones", low=0.0, high=2.0)
    alpha: float | None = param(
        None, "weight of the classifiers in the paper's sum; none: weights are learned", low=0.0, high=1.0
    )
    search: str = param(
        "auto", "way to search: all vectors (exact) or a graph of them (hnsw)", choices=("auto", "exact", "hnsw")
    )
    start: str = param(
        "svd",
        "source of the first token embeddings; sentence: a sentence encoder embeds whole texts, which stay so",
        choices=(*TABLE_SOURCES, SENTENCE),
    )
    vectors: str | None = param(None, "file of word vectors to start from instead; sets the dimension")
    encoder: str | None = param(
        None,
        "folder of a sentence encoder, for start=sentence; empty: the installed one",
        advanced=True,
        at_prediction=True,
    )
    batch_size: int = param(1024, "number of labels in a batch of module I", low=1, advanced=True, formerly="batch")
    learning_rate: float = param(0.005, "step size of module I", low=1e-7, high=1.0, advanced=True, formerly="rate")
    encoder_c: float = param(0.9, "c of the encoder's likelihood", low=0.01, high=0.999, advanced=True)
    encoder_d: float = param(1.5, "d of the encoder's likelihood", low=0.1, high=100.0, advanced=True)
    hard_negatives: int = param(1, "number of hardest negatives of a row in module I", low=1, advanced=True)
    frequency_power: float = param(
        0.45, "power of its frequency with which a label is drawn", low=0.0, high=1.0, advanced=True
    )
    offline_negatives: bool = param(False, "whether one negative comes from a search of all documents", advanced=True)
    encoder_residual: bool = param(
        False, "whether module I learns the residual block, too, as in the paper's supplement", advanced=True
    )
    activation: str = param("gelu", "activation of the encoder", choices=("gelu", "relu", "identity"), advanced=True)
    nu: float = param(0.0, "ν of the normalisation N_ν; 0 is the plain one", low=0.0, high=1.0, advanced=True)
    graphs: str = param(
        "text,centroids,documents", "names of the searches for candidates, separated by commas", advanced=True
    )
    correlated: int = param(10, "number of labels whose texts smooth a label's own", low=0, high=1000, advanced=True)
    own_weight: float = param(
        1.0,
        "weight of a label's own text beside what walks bring; 0 as in the authors' program",
        low=0.0,
        advanced=True,
    )
    classifier_batch_size: int = param(
        256, "number of documents in a batch of module IV", low=1, advanced=True, formerly="classifier_batch"
    )
    classifier_learning_rate: float = param(
        0.002, "step size of module IV", low=1e-7, high=1.0, advanced=True, formerly="classifier_rate"
    )
    token_learning_rate: float = param(
        1.0, "step size of tokens in module IV, relative to it", low=0.0, advanced=True, formerly="token_rate"
    )
    negatives: int = param(500, "number of hard negatives of a document in module IV", low=1, advanced=True)
    slack: float | None = param(
        0.1,
        "distance below the cosine at which a hard negative counts, within which it takes part; none: all take part",
        low=0.0,
        high=2.0,
        advanced=True,
    )
    random_negatives: int = param(0, "number of random negatives of a document in module IV", low=0, advanced=True)
    hardest: int | None = param(
        None,
        "number of hardest negatives kept per label of a document in module IV (κ); none: all",
        low=1,
        advanced=True,
    )
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
    token_dropout: float = param(
        0.2, "share of the tokens left out at random in module IV", low=0.0, high=0.95, advanced=True
    )
    C: float = param(1.0, "weight of the errors of classifiers over words", low=1e-4, high=1e4, advanced=True)
    patience: int = param(6, PATIENCE_HELP, low=1, advanced=True)
    validation: float = param(
        0.05, "share of the documents that validate", low=0.0, high=0.5, advanced=True, formerly="held_out"
    )
    device: str = device_param()
    precision: str = precision_param()

    title = "SiameseXML"
    paper = "Dahiya et al., SiameseXML: siamese networks meet extreme classifiers with 100M labels, ICML 2021"
    capabilities = StartCapabilities()
    model_type = SiameseXMLModel
    presets = (
        Preset("quick", {"epochs": 2}),
        Preset(
            "paper",
            {
                "dimension": 300,
                "epochs": 50,
                "plus": False,
                "shortlist": 500,
                "terms": False,
                "tail": 0.0,
                "alpha": 0.9,
                "batch_size": 4096,
                "classifier_learning_rate": 0.0005,
                "token_dropout": 0.0,
                "hardest": 5,
                "slack": None,
                "own_weight": 0.0,
            },
            ours_adds="words, votes, learned weights",
            not_yet="fastText vectors (a file may be given with `vectors`)",
        ),
    )

    def validate(self) -> None:
        super().validate()
        graphs = read_graphs(self.graphs)
        if not graphs or set(graphs) - set(GRAPHS):
            raise ConfigError(f"graphs must name some of {', '.join(GRAPHS)}, got {self.graphs!r}")
        if self.start == SENTENCE and self.vectors:
            raise ConfigError("vectors are of tokens, and start=sentence has none; unset one of the two")

    def estimate_device_bytes(self, sizes: DataSizes) -> int:
        table = 3 * sizes.n_features * self.dimension
        rows = (3 + self.offline_negatives) * self.batch_size
        words = 3 * round(rows * sizes.terms_per_document) * self.dimension
        encoder = table + 8 * rows * self.dimension + words + 16 * self.batch_size**2
        n = min(self.classifier_batch_size, sizes.n_documents)
        compared = min(sizes.n_labels, n * (self.negatives + self.random_negatives + round(sizes.labels_per_document)))
        searched = (2 * sizes.n_labels + sizes.n_documents) * self.dimension
        learned = 4 * sizes.n_labels * self.dimension + table + searched
        # Negatives and the words of documents stay there, so that the near ones are found without sending them again.
        listed = sizes.n_documents * min(self.negatives, sizes.n_labels) + (3 * sizes.n_entries if self.plus else 0)
        classifiers = learned + 8 * (n + compared) * self.dimension + 2 * n * compared + listed
        pairs = sizes.n_documents * (min(self.shortlist, sizes.n_labels) + sizes.labels_per_document)
        own = estimate_own_bytes(sizes.n_entries, round(pairs * sizes.terms_per_document)) if self.terms else 0
        return max(4 * max(encoder, classifiers), own)

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> SiameseXMLModel:
        from xcwork.methods.siamesexml.encoded_texts import read_training_texts
        from xcwork.methods.siamesexml.training import train_members

        label_rows = train.labels.Z
        assert label_rows is not None  # `fit` refuses data without label text
        facts = self._collect_facts(train)
        tokens = TokenMap.from_features(train.features, train.labels.features, label_rows.shape[1])
        texts = read_training_texts(train, tokens, facts["params"])
        progress = TrainingProgress(checkpoint, train, self.get_params())
        with multiply_on_one_thread():  # blocks of a search have threads of their own
            trained = train_members(facts["params"], tokens, train, texts, progress)
        return SiameseXMLModel(
            **facts,
            Z=split_columns(texts.Z, tokens.size)[0],
            label_tokens=tokens.of_label_feature,
            Y=train.Y,
            fusion_weights=trained.fusion.table,
            unseen_bonus=trained.fusion.unseen_bonus,
            word_weights=trained.words.weights,
            word_bias=trained.words.bias,
            members=[member.to_state() for member in trained.members],
            curves=trained.curves,
        )

    def read_matrix(self, documents: Documents) -> sparse.csr_array:
        """Return documents as for every method; with `start=sentence` the embeddings of their texts follow."""
        model = self._get_current_model()
        assert isinstance(model, SiameseXMLModel)
        return super().read_matrix(documents) if model.sentences is None else model.read_rows(documents)

    def _explain(self, document: Documents, x: sparse.csr_array, label: int) -> Explanation:
        model = self._get_current_model()
        assert isinstance(model, SiameseXMLModel)
        text = None if model.sentences is None else read_one_text(document, x, model.features)
        return model.explain(x, label, text)

    def count_cosines(self, split: Split, bins: int = 40) -> CosineHistogram:
        """Return how the cosines of document and classifier are distributed for relevant pairs and hard negatives."""
        model = self._get_current_model()
        assert isinstance(model, SiameseXMLModel)
        return model.count_cosines(split, bins)


def make_supplement_variant(**params: Any) -> SiameseXML:
    """Return the variant of the paper's supplement.

    Two searches, ReLU, N_ν, offline negatives, a residual block that starts in module I, frozen tokens.
    """
    variant = {
        "graphs": "text,centroids",
        "activation": "relu",
        "nu": 0.1,
        "offline_negatives": True,
        "encoder_residual": True,
        "hard_negatives": 3,
        "plus": False,
        "correlated": 0,
        "terms": False,
        "alpha": 0.9,
    }
    return SiameseXML.from_params(variant | params)
