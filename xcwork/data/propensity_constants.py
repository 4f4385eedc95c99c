"""The propensity constants A and B that were published for each dataset."""

from __future__ import annotations

import re

from xcwork.core.propensity import Propensity

_REPOSITORY = "Extreme Classification Repository"


# (A, B): the datasets they belong to.
_CONSTANTS: dict[tuple[float, float], tuple[str, ...]] = {
    (0.5, 0.4): (
        "WikiLSHTC-325K",
        "Wikipedia-500K",
        "WikiTitles-500K",
        "LF-WikiTitles-500K",
        "LF-Wikipedia-500K",
        "GZ-Wikipedia-1M",
    ),
    (0.6, 2.6): (
        "Amazon-670K",
        "Amazon-3M",
        "AmazonTitles-670K",
        "AmazonTitles-3M",
        "LF-Amazon-131K",
        "LF-AmazonTitles-131K",
        "LF-AmazonTitles-1.3M",
        "GZ-Amazon-1M",
    ),
    (0.55, 1.5): (
        "EURLex-4K",
        "EURLex-4.3K",
        "EURLEX57K",
        "GZ-EURLex-4.3K",
        "Wiki10-31K",
        "AmazonCat-13K",
        "AmazonCat-14K",
        "RCV1",
        "RCV1-2K",
        "Delicious",
        "Bibtex",
        "Mediamill",
        "WikiSeeAlso-350K",
        "WikiSeeAlsoTitles-350K",
        "LF-WikiSeeAlso-320K",
        "LF-WikiSeeAlsoTitles-320K",
    ),
}


def find_constants(name: str) -> Propensity:
    """Return the constants published for a dataset, however its name is spelt; the usual default for all others.

    >>> find_constants("lf_amazontitles_131k")
    Propensity(A=0.6, B=2.6, source='Extreme Classification Repository, LF-AmazonTitles-131K')
    >>> find_constants("my own data").A
    0.55
    """
    wanted = normalise_name(name)
    for (a, b), names in _CONSTANTS.items():
        for published in names:
            if normalise_name(published) == wanted:
                return Propensity(a, b, f"{_REPOSITORY}, {published}")
    return Propensity()


def normalise_name(name: str) -> str:
    """Return a dataset's name without what people spell differently: case, spaces, dashes and underscores."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
