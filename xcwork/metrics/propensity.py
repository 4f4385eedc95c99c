"""How likely a true label is to be annotated at all, and the constants that say so for each dataset.

Jain, Prabhu and Varma (KDD 2016) model the chance that an annotator adds a label which n of N training documents
carry. Its inverse is the weight of a hit in PSP@k:

    q = 1 + C * (n + B)^-A        C = (ln N - 1) * (B + 1)^A

n and N always come from the training part, and N counts documents without labels too. A label never seen has n = 0,
which the formula extends to: it gets the largest weight. A and B are published per dataset; they move PSP@k by
several points, so every report names the values it used and their source.
"""

from __future__ import annotations

import re

import numpy as np

from xcwork.data.dataset import Propensity

_REPOSITORY = "Extreme Classification Repository"

# (A, B): the datasets they belong to.
_CONSTANTS: dict[tuple[float, float], tuple[str, ...]] = {
    (0.5, 0.4): (
        "WikiLSHTC-325K", "Wikipedia-500K", "WikiTitles-500K", "LF-WikiTitles-500K", "LF-Wikipedia-500K",
        "GZ-Wikipedia-1M",
    ),
    (0.6, 2.6): (
        "Amazon-670K", "Amazon-3M", "AmazonTitles-670K", "AmazonTitles-3M", "LF-Amazon-131K", "LF-AmazonTitles-131K",
        "LF-AmazonTitles-1.3M", "GZ-Amazon-1M",
    ),
    (0.55, 1.5): (
        "EURLex-4K", "EURLex-4.3K", "EURLEX57K", "GZ-EURLex-4.3K", "Wiki10-31K", "AmazonCat-13K", "AmazonCat-14K",
        "RCV1", "RCV1-2K", "Delicious", "Bibtex", "Mediamill", "WikiSeeAlso-350K", "WikiSeeAlsoTitles-350K",
        "LF-WikiSeeAlso-320K", "LF-WikiSeeAlsoTitles-320K",
    ),
}  # fmt: skip


def constants_for(name: str) -> Propensity:
    """The constants published for a dataset, whatever the spelling of its name; the usual default for all others.

    >>> constants_for("lf_amazontitles_131k")
    Propensity(A=0.6, B=2.6, source='Extreme Classification Repository, LF-AmazonTitles-131K')
    >>> constants_for("my own data").A
    0.55
    """
    wanted = spelling(name)
    for (a, b), names in _CONSTANTS.items():
        for published in names:
            if spelling(published) == wanted:
                return Propensity(a, b, f"{_REPOSITORY}, {published}")
    return Propensity()


def inverse_propensities(frequencies: np.ndarray, n_train: int, propensity: Propensity) -> np.ndarray:
    """The weight q of a hit of each label, (n_labels,), from the label counts of the training part."""
    a, b = propensity.A, propensity.B
    # Below three documents ln N - 1 is negative and the weights would turn upside down: then all labels weigh the same.
    scale = max(0.0, np.log(max(n_train, 1)) - 1.0) * (b + 1.0) ** a
    return 1.0 + scale * (np.asarray(frequencies, dtype=np.float64) + b) ** -a


def spelling(name: str) -> str:
    """A dataset's name without what people spell differently: case, spaces, dashes and underscores."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
