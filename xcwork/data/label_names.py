"""Label names that differ only in case, accents, punctuation, spacing or a plural: probably one label written twice.

`Machine learning`, `machine-learning` and `machine learnings` have one key. Names are compared by their keys alone, so
a million labels take seconds and no pair is looked at. What a dot or a slash separates stays apart, because paths use
them: `numpy.ma.sort` is not `numpy.masort`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence

MIN_PLURAL_LETTERS = 4  # of a word that loses its last s; `gas` and `ga` are different things
_WORDS = re.compile(r"[^\W_]+|[./\\:+#]", re.UNICODE)


def make_name_key(name: str) -> str:
    """Return what names have in common that are written differently but mean the same.

    >>> make_name_key("Machine-Learnings") == make_name_key("machine learning")
    True
    """
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", name) if not unicodedata.combining(sign))
    return "".join(_drop_plural(word) for word in _WORDS.findall(plain.casefold())) or name


def _drop_plural(word: str) -> str:
    is_plural = len(word) >= MIN_PLURAL_LETTERS and word.endswith("s") and not word.endswith("ss") and word.isalpha()
    return word[:-1] if is_plural else word


def find_similar_names(names: Sequence[str]) -> list[list[int]]:
    """Return groups of labels, by their places in `names`, whose names differ but have one key; largest groups first.

    Labels of exactly the same name are counted elsewhere (`Card.duplicate_label_names`) and stand here once.
    """
    groups: dict[str, dict[str, int]] = defaultdict(dict)
    for label, name in enumerate(names):
        groups[make_name_key(name)].setdefault(name, label)
    found = [sorted(group.values()) for group in groups.values() if len(group) > 1]
    return sorted(found, key=lambda group: (-len(group), group))
