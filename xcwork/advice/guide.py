"""What each method is good for, in words for somebody who chooses one; no method is imported for it.

`GROUPS` lists the methods as the Train page does. A method that is registered elsewhere, and not described here, is
found in the last group under its registered name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MethodNote:
    """A method in a few words."""

    title: str
    good_for: str
    how: tuple[str, str, str]  # how it works, in three sentences
    when: str = ""  # when to use it, and when not
    flow: tuple[str, str, str] = ("document", "model", "labels")  # the same as a picture: three boxes with arrows
    main_settings: Mapping[str, str] = field(default_factory=dict)  # at most three parameters, in plain words
    needs_label_text: bool = False


@dataclass(frozen=True)
class MethodGroup:
    """Methods that work in the same way."""

    title: str
    methods: tuple[str, ...]


LABEL_TEXT_GROUP = MethodGroup(
    "Reads the label texts: finds labels that no training document has", ("siamesexml", "zestxml")
)
CLASSIFIER_GROUP = MethodGroup("One classifier per label", ("one_vs_all", "landmarks", "label_tree"))
NEURAL_GROUP = MethodGroup("Neural, with short heads", ("mhc", "flat", "mhp", "mhs"))
GROUPED_GROUP = MethodGroup("Learns from labels of groups: an album, a module, a folder", ("eagle", "deep_miml"))
YARDSTICK_GROUP = MethodGroup(
    "Yardsticks to beat", ("tfidf", "bm25", "sentence_match", "nearest_documents", "popularity")
)
GROUPS = (LABEL_TEXT_GROUP, CLASSIFIER_GROUP, NEURAL_GROUP, GROUPED_GROUP, YARDSTICK_GROUP)

NOTES = {
    "siamesexml": MethodNote(
        "SiameseXML",
        "few documents per label, rare labels",
        (
            "One encoder turns documents and label texts into vectors, so that a document lies near its labels.",
            "Each label then gets a classifier of its own, which starts from the vector of its text.",
            "What both say is added up, and the nearest labels are found without visiting all of them.",
        ),
        "Use it when labels have few documents and meaningful names: that is where it gains most. Training takes "
        "longer than for the linear methods, and with fifty documents per label they are as precise.",
        ("words of document and label", "vectors, near if they belong together", "nearest labels"),
        {
            "epochs": "Passes over the labels, at most",
            "dimension": "Length of a vector",
            "tail": "Preference for rare labels",
        },
        needs_label_text=True,
    ),
    "zestxml": MethodNote(
        "ZestXML",
        "fast, and every score taken apart",
        (
            "It learns which words of documents go with which words of label texts.",
            "A closed form gives the strongest pairs, and labels with training documents refine theirs.",
            "The score of a label is a sum over pairs of words, so a label without documents has one, too.",
        ),
        "A good first choice when labels have texts. It is fast, finds labels without training documents, and takes "
        "every score apart. It cannot be used without label texts.",
        ("words of the document", "learned pairs of words", "words of the label"),
        {
            "pairs": "Pairs kept per word",
            "shortlist": "Labels looked at per document",
            "match_weight": "Weight of words in common",
        },
        needs_label_text=True,
    ),
    "one_vs_all": MethodNote(
        "One-vs-all",
        "precise with many documents per label",
        (
            "Each label has a linear classifier that separates its documents from all others.",
            "Small weights are dropped, so that the model stays small.",
            "A document gets the labels whose classifiers give the highest scores.",
        ),
        "Use it for up to about 100,000 labels when precision matters more than training time. It cannot predict "
        "labels without training documents.",
        ("words of the document", "one classifier per label", "highest scores"),
        {"C": "How closely to follow the training labels", "prune": "Weights below this are dropped"},
    ),
    "landmarks": MethodNote(
        "Landmarks",
        "labels that occur together",
        (
            "It chooses labels that are easy to predict and that say much about others: the landmarks.",
            "Only these are predicted from the text.",
            "The others are put together from the landmarks with which they occur.",
        ),
        "Use it when labels depend on each other, and to see how. Compare it with its own one-vs-rest row: with many "
        "outliers the landmarks add little.",
        ("words of the document", "scores of a few landmarks", "all other labels"),
        {
            "landmarks": "Number of landmarks",
            "selection": "How they are chosen",
            "gamma": "Smoothness; more is smoother",
        },
    ),
    "label_tree": MethodNote(
        "Label tree",
        "fast and small, the usual choice",
        (
            "Labels with similar documents are put into the same branch of a tree.",
            "At every branch a linear classifier says where to go on.",
            "Only the most promising branches are followed, so most labels are never looked at.",
        ),
        "Use it when there are many labels, or little time or memory. One-vs-all is a little more precise; labels "
        "without training documents are never predicted.",
        ("words of the document", "branch after branch", "labels of the last branches"),
        {
            "trees": "Number of trees",
            "beam": "Branches followed per level",
            "leaf_size": "Labels per last branch, at most",
        },
    ),
    "mhc": MethodNote(
        "Cascade (MHC)",
        "as precise as flat, less to learn",
        (
            "A network reads the document, and a first short head chooses groups of labels.",
            "The next head chooses among the labels of these groups.",
            "So no layer has as many outputs as there are labels.",
        ),
        "Use it for very many labels when documents have several each, and you want a neural model without an output "
        "for every label. With a few thousand labels a linear method is faster.",
        ("document", "head after head", "labels"),
        {"epochs": "Passes over the documents, at most", "width": "Width of the network", "beam": "Groups followed"},
    ),
    "flat": MethodNote(
        "Flat",
        "what the heads are measured against",
        (
            "A network reads the document.",
            "Its last layer has one output per label.",
            "It is what the methods with short heads are compared with.",
        ),
        "Use it as the yardstick for the methods with short heads, or for images and dense features. Beyond some "
        "100,000 labels its output layer becomes too large.",
        ("document", "network", "one output per label"),
        {
            "epochs": "Passes over the documents, at most",
            "width": "Width of the network",
            "dropout": "Share switched off in training",
        },
    ),
    "mhp": MethodNote(
        "Product (MHP)",
        "a million labels in little memory",
        (
            "Each label has a code of a few digits, like a number.",
            "One short head per digit says how likely each of its values is.",
            "The score of a label is the product over its digits.",
        ),
        "Use it when documents have exactly one label and memory is short: a million labels need a few thousand "
        "outputs. For label sets prefer the cascade.",
        ("document", "a few short heads", "products of their outputs"),
        {"epochs": "Passes over the documents, at most", "n_heads": "Number of heads", "width": "Width of the network"},
    ),
    "mhs": MethodNote(
        "Sampling (MHS)",
        "fast steps, full prediction",
        (
            "A network has one output per label, as a flat one does.",
            "Each step of training visits the true labels and a sample of the others.",
            "All labels are scored when it predicts.",
        ),
        "Use it instead of the flat classifier when training steps are too slow. Model size and prediction stay as "
        "they are.",
        ("document", "network, some labels per step", "one output per label"),
        {
            "epochs": "Passes over the documents, at most",
            "sampled": "Labels sampled per step",
            "width": "Width of the network",
        },
    ),
    "eagle": MethodNote(
        "EAGLE",
        "gives the labels of a group to its members",
        (
            "Labels are known for groups of documents only.",
            "It estimates which member of a group each label belongs to.",
            "Then it trains an ordinary method on these estimates.",
        ),
        "Use it when labels are known for groups only, and groups are mixed. In tight groups, where all members are "
        "alike, labels may as well stay with every member (`assign=all`).",
        ("labels of a group", "its likely members", "an ordinary method"),
        {
            "learner": "Method trained on the estimates",
            "steps": "Rounds of estimating",
            "group_size": "Members per group",
        },
    ),
    "deep_miml": MethodNote(
        "Deep-MIML",
        "few labels, documents made of parts",
        (
            "A document is a bag of parts, such as the sentences of a text or the images of an album.",
            "A network compares each part with several sub-concepts of each label.",
            "Attention decides which parts of the bag are evidence for a label.",
        ),
        "Use it for up to about a thousand labels and documents that are bags: images of an album, sentences of a "
        "text. It is too slow for extreme label spaces.",
        ("parts of a document", "sub-concepts of labels", "labels"),
        {
            "epochs": "Passes over the documents, at most",
            "concepts": "Sub-concepts per label",
            "width": "Width of the network",
        },
    ),
    "tfidf": MethodNote(
        "TF-IDF match",
        "words in common, finds unseen labels too",
        (
            "It compares the words of a document with the words of each label text.",
            "Rare words count more than frequent ones.",
            "Nothing is learned, so it finds unseen labels as well as others.",
        ),
        "Use it as a yardstick: a trained method that is not better has learned nothing from the labels. It needs "
        "label texts.",
        ("words of the document", "words in common", "labels"),
        {},
        needs_label_text=True,
    ),
    "bm25": MethodNote(
        "BM25",
        "words in common, as search engines count",
        (
            "It ranks label texts as a search engine ranks pages, with the document as the question.",
            "Rare words count more, and repeated words ever less.",
            "Nothing is learned, so it finds unseen labels as well as others.",
        ),
        "Use it as a yardstick, as you would a search engine: it is usually level with TF-IDF match. It needs label "
        "texts.",
        ("words of the document", "words in common", "labels"),
        {"k1": "How much repeated words count", "b": "How much long texts are penalised"},
        needs_label_text=True,
    ),
    "sentence_match": MethodNote(
        "Sentence match",
        "other words for the same, unseen labels",
        (
            "A sentence encoder, trained elsewhere, turns documents and label texts into vectors.",
            "A document gets the labels whose vectors point the same way, whether or not they share words.",
            "Nothing is learned here, so it finds unseen labels; its reasons are approximate.",
        ),
        "Use it as the yardstick for unseen labels, if texts are in the language of the encoder. With training "
        "documents, give SiameseXML the same encoder (`start=sentence`).",
        ("text of the document", "vectors of meaning", "nearest labels"),
        {"words": "Weight of words in common"},
        needs_label_text=True,
    ),
    "nearest_documents": MethodNote(
        "Nearest documents",
        "labels of similar documents",
        (
            "It looks for the training documents that are most similar to a new one.",
            "Their labels are its suggestions.",
            "The more similar a document, the more its labels count.",
        ),
        "Use it as a yardstick that needs no label texts. It suggests labels only from documents it has seen, and "
        "prediction time grows with their number.",
        ("document", "most similar documents", "their labels"),
        {"neighbours": "Documents that vote"},
    ),
    "popularity": MethodNote(
        "Popularity",
        "the most frequent labels for everybody",
        (
            "It suggests the labels that occur most often in training.",
            "They are the same for every document.",
            "Any method that learns should be above it.",
        ),
        "Use it to see what a blind guess reaches on your data.",
        ("any document", "counts of labels", "most frequent labels"),
        {},
    ),
}
OTHER_GROUP_TITLE = "Others"


def get_note(method: str) -> MethodNote:
    """Return what there is to say about a method; its registered name where nobody wrote anything."""
    return NOTES.get(method) or MethodNote(method, "", ("", "", ""))


def list_groups(methods: Iterable[str]) -> list[MethodGroup]:
    """Return the groups with the given methods; those that nobody described come last."""
    left = dict.fromkeys(methods)
    found = [MethodGroup(group.title, tuple(name for name in group.methods if name in left)) for group in GROUPS]
    others = tuple(name for name in left if name not in NOTES)
    return [group for group in (*found, MethodGroup(OTHER_GROUP_TITLE, others)) if group.methods]
