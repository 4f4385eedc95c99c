"""Which methods exist. Adding one is a package and a line here; it is imported only when somebody asks for it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from xcwork.errors import ConfigError
from xcwork.extras import is_installed, require_package

METHODS = {
    "bm25": "xcwork.methods.label_match.method:BM25",
    "deep_miml": "xcwork.methods.deep_miml.method:DeepMIML",
    "eagle": "xcwork.methods.eagle.method:Eagle",
    "flat": "xcwork.methods.multihead.method:Flat",
    "label_tree": "xcwork.methods.label_tree.method:LabelTree",
    "landmarks": "xcwork.methods.landmarks.method:Landmarks",
    "mhc": "xcwork.methods.multihead.method:MHC",
    "mhp": "xcwork.methods.multihead.method:MHP",
    "mhs": "xcwork.methods.multihead.method:MHS",
    "nearest_documents": "xcwork.methods.nearest_documents.method:NearestDocuments",
    "one_vs_all": "xcwork.methods.one_vs_all.method:OneVsAll",
    "popularity": "xcwork.methods.popularity.method:Popularity",
    "sentence_match": "xcwork.methods.sentence_match.method:SentenceMatch",
    "siamesexml": "xcwork.methods.siamesexml.method:SiameseXML",
    "tfidf": "xcwork.methods.label_match.method:TfidfMatch",
    "zestxml": "xcwork.methods.zestxml.method:ZestXML",
}
TORCH_METHODS = frozenset({"deep_miml", "flat", "landmarks", "mhc", "mhp", "mhs", "siamesexml"})

SLOW_METHODS = frozenset({"deep_miml", "siamesexml"})  # minutes on a few thousand documents
# Further models that are trained for the probabilities of a run on 3,000 documents, the more the faster that is.
CALIBRATION_REFITS = dict.fromkeys(("bm25", "nearest_documents", "popularity", "tfidf"), 9)
CALIBRATION_REFITS |= dict.fromkeys(("flat", "label_tree", "mhs", "zestxml"), 4) | dict.fromkeys(SLOW_METHODS, 1)
USUAL_CALIBRATION_REFITS = 2  # of the others
ENCODER_METHODS = frozenset({"sentence_match"})  # of which `fit` says what is missing: an encoder may be a folder


def list_usable_methods() -> list[str]:
    """Return the names of the methods whose packages are installed; some extras may be missing."""
    has_torch, has_encoder = is_installed("torch"), is_installed("sentence_transformers")
    missing = (frozenset() if has_torch else TORCH_METHODS) | (frozenset() if has_encoder else ENCODER_METHODS)
    return [name for name in METHODS if name not in missing]


def count_refits(name: str) -> int:
    """Return how many further models the calibration of a method trains on 3,000 documents."""
    return CALIBRATION_REFITS.get(name, USUAL_CALIBRATION_REFITS)


def find_class(name: str) -> type[Any]:
    """Return the class registered under `name`."""
    if name not in METHODS:
        raise ConfigError(f"there is no method called {name!r}; choose one of {', '.join(METHODS)}")
    if name in TORCH_METHODS:
        require_package("torch", f"the method {name}")
    module, _, attribute = METHODS[name].partition(":")
    return getattr(import_module(module), attribute)


def find_name(cls: type[Any]) -> str:
    """Return the registered name of a method class."""
    for name, place in METHODS.items():
        module, _, attribute = place.partition(":")
        # It may be registered under a module that exports it rather than the one that defines it.
        if attribute == cls.__name__ and (module == cls.__module__ or find_class(name) is cls):
            return name
    raise ConfigError(f"{cls.__name__} is not registered; add it to xcwork/methods/names.py")
