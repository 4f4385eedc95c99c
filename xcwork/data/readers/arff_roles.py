"""What the attributes of an ARFF file that are no labels are good for: features, text, or nothing but a name.

- An attribute with another value in almost every row only names the rows. A nominal or string one is found by its
  values; a numeric one has to be called an id, too, because measurements may all differ as well.
- A string attribute is text where its values are sentences, or where they recur.
- A date gives no features.

One pass over the rows, and only where an attribute is in doubt. Memory: one hash per different value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from xcwork.data.readers.arff import MISSING, ArffFile, Attribute, describe_bad_attribute

MIN_ROW_IDS = 20  # in fewer rows all values may differ by chance
ROW_ID_SHARE = 0.9  # different values per row from which on an attribute names the rows
MIN_WORDS_OF_TEXT = 2.0  # words per value, on average, from which on a string is text and not a name
_ID_NAME = re.compile(
    r"(?:row|instance|inst|document|doc|example|sample|record|item|case|patient|image|img)?[-_ .]*(?:id|uid|index|nr)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class AttributeRoles:
    """The numbers of the attributes that become features or text, and notes about those that do not."""

    features: tuple[int, ...]
    texts: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class ValueTally:
    """What is remembered of the values of one attribute."""

    different: set[int] = field(default_factory=set)
    n_words: int = 0
    n_rows: int = 0
    is_whole: bool = True  # whether all values are whole numbers

    def add(self, value: str) -> None:
        self.different.add(hash(value))
        self.n_words += 1 + value.count(" ")
        self.n_rows += 1
        self.is_whole = self.is_whole and value.isascii() and value.removesuffix(".0").isdigit()

    def names_rows(self, attribute: Attribute, n_rows: int) -> bool:
        """Return whether the values of `attribute`, all of which were added, name the rows."""
        if len(self.different) < max(MIN_ROW_IDS, ROW_ID_SHARE * n_rows):
            return False
        if attribute.is_numeric:
            return self.is_whole and len(self.different) == n_rows
        return not attribute.is_text or self.n_words < MIN_WORDS_OF_TEXT * self.n_rows


def choose_roles(files: Sequence[ArffFile], labels: Sequence[int]) -> AttributeRoles:
    """Return the roles of the attributes that are no labels, from the rows of all files."""
    first = files[0]
    if first.bag is not None:
        return _choose_roles_in_bags(first)
    others = {i: attribute for i, attribute in enumerate(first.attributes) if i not in set(labels)}
    tallies = {i: ValueTally() for i in others if _may_name_rows(others[i])}
    n_rows = 0
    for arff in files if tallies else ():
        for _, row in arff.read_rows():
            n_rows += 1
            for i, value in row:
                if i in tallies and value != MISSING:
                    tallies[i].add(value)
    row_ids = [i for i, tally in tallies.items() if tally.names_rows(others[i], n_rows)]
    dates = [i for i in others if others[i].is_date]
    texts = [i for i in others if others[i].is_text and i not in row_ids]
    features = [i for i in others if i not in {*row_ids, *dates, *texts}]
    notes = [f"the attribute {others[i].name!r} names the rows, so it is left out of the features" for i in row_ids]
    notes += [f"the attribute {others[i].name!r} is a date, so it is left out of the features" for i in dates]
    return AttributeRoles(tuple(features), tuple(texts), tuple(notes))


def _may_name_rows(attribute: Attribute) -> bool:
    if attribute.is_numeric:
        return _ID_NAME.fullmatch(attribute.name.strip()) is not None
    return attribute.is_text or len(attribute.values or ()) >= MIN_ROW_IDS


def _choose_roles_in_bags(arff: ArffFile) -> AttributeRoles:
    """Return the attributes inside the bags, which alone are features in multi-instance data."""
    inner = arff.attributes[arff.bag or 0].inner or ()
    for attribute in inner:
        if attribute.is_text or attribute.is_date:
            kind = "string" if attribute.is_text else "date"
            raise describe_bad_attribute(attribute.name, kind, arff.path, attribute.line)
    return AttributeRoles(tuple(range(len(inner))))
