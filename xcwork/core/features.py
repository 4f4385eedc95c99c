"""The columns of a feature matrix: how many, what they are called, and how text becomes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scipy import sparse

from xcwork.errors import DataError
from xcwork.storage.fingerprint import hash_content
from xcwork.storage.state import register_storable
from xcwork.text.vectorizer import TextVectorizer


class _Names:
    """The names of columns: as given, or those of the vectoriser's terms, made when they are first asked for."""

    def __get__(self, features: Features | None, owner: type[Features]) -> list[str] | None:
        if features is None:
            return None  # the default of the field
        given: list[str] | None = vars(features)["given_names"]
        return features.vectorizer.feature_names if given is None and features.vectorizer is not None else given

    def __set__(self, features: Features, names: list[str] | None) -> None:
        vars(features)["given_names"] = names


@register_storable
@dataclass(frozen=True, eq=False)
class Features:
    """The columns of a feature matrix: how many, what they are called, and how text becomes them."""

    size: int
    names: _Names = _Names()
    vectorizer: TextVectorizer | None = None
    image_shape: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return f"<{self.size:,} features>"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything here."""
        return hash_content(self.to_state())

    def get_name(self, feature: int) -> str:
        """Return what a column is called; its number where columns have no names."""
        return f"feature {feature}" if self.names is None else self.names[feature]

    def transform(self, texts: Sequence[str]) -> sparse.csr_array:
        """Return the rows of `texts` in these columns."""
        if self.vectorizer is None:
            raise DataError(
                "this dataset was loaded as ready-made features, so new text cannot be turned into them",
                remedy="give a feature matrix, or load the dataset from raw text",
            )
        return self.vectorizer.transform(texts)

    def to_state(self) -> dict[str, Any]:
        # The vectoriser knows the names; storing them twice would double the largest part of many models.
        names = None if self.vectorizer is not None else self.names
        shape = None if self.image_shape is None else list(self.image_shape)
        return {"size": self.size, "names": names, "vectorizer": self.vectorizer, "image_shape": shape}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Features:
        vectorizer, shape = state["vectorizer"], state["image_shape"]
        names = state["names"] if vectorizer is None else None
        if type(state["size"]) is not int or not 0 <= state["size"] < 2**31:
            raise ValueError("the number of features is not a number")
        check_texts("features", names, state["size"])
        if vectorizer is not None and len(vectorizer.idf) != state["size"]:
            raise ValueError("there is not one term per feature")
        if shape is not None and not (all(type(n) is int for n in shape) and math.prod(shape) == state["size"]):
            raise ValueError("the shape of the images does not fit the features")
        return cls(state["size"], names, vectorizer, None if shape is None else tuple(shape))


def check_texts(what: str, texts: Any, count: int) -> None:
    """Reject names from a file that are not one text each; None, no names at all, is accepted."""
    if texts is not None and not (isinstance(texts, list) and len(texts) == count and set(map(type, texts)) <= {str}):
        raise ValueError(f"the {what} are not named one by one")
