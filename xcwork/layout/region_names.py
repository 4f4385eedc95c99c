"""Names of regions: the two words that set a region's labels apart from those of all other regions.

A label has the words of its name and, counting less, the terms of its text and of its training documents.
For a region r of a level and a word w let share(w, r) be the part of its labels that have w. Its weight is that of
class-based tf-idf, with regions as the classes:

    share(w, r) * log(1 + 1 / sum over all regions s of share(w, s))

Left out is what the dataset says everywhere: words of more than a third of the regions, terms of more than a tenth
of the training documents (unless names have them), numbers, and the first part of names that are paths (`numpy` in
`numpy.linalg.qr`). Two words of a phrase, such as the parts of `element-wise`, count as one. No two regions of a map
have the same name, whatever their level.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.labels import LabelSpace
from xcwork.sparse import fill_with_ones

MAX_LABELS_PER_REGION = 2_000  # whose words are counted
MAX_DOCUMENTS_PER_LABEL = 5
TEXT_WEIGHT = 0.5  # of a word of a label's text, against one of its name
DOCUMENT_WEIGHT = 0.2  # of a word of a label's documents
MAX_DOCUMENT_SHARE = 0.1  # of all training documents that may have a term
MAX_REGION_SHARE = 1 / 3  # of the regions that may have a word
MIN_COMMON_SHARE = 0.06  # of a region's labels: from here on it counts as having the word
MIN_PATH_SHARE = 0.5  # of names that are paths
MIN_WORD_LENGTH = 3
MAX_TERMS_PER_REGION = 400
CANDIDATES = 12  # words that names are made of, per region
MAX_TOGETHER_SHARE = 0.75  # of the labels with one of two words that may have both
SEPARATOR = " · "
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
PATH = re.compile(r"[./\\:>|]")


def name_regions(of_label: np.ndarray, parents: Sequence[int], ids: np.ndarray, dataset: Dataset) -> list[str]:
    """Return a name for each region; `of_label` (n_levels, n) has the region of each label `ids`."""
    names = [""] * len(parents)
    banned = find_path_roots(dataset.labels, ids)
    common = _find_common_terms(dataset)
    taken: set[frozenset[str]] = set()
    for level in of_label:
        regions = np.unique(level[level >= 0]).tolist()
        if not regions:
            continue
        members = [ids[level == region] for region in regions]
        shares = _count_words(members, dataset, common)
        ranked = _rank_words(shares, banned)
        for region, words, labels in zip(regions, ranked, members, strict=True):
            above = names[parents[region]] if parents[region] >= 0 else ""
            words = join_phrases(words, labels, dataset.labels)
            name = _choose_name(words, taken, above) or _name_by_labels(labels, dataset, taken)
            taken.add(frozenset(name.split(SEPARATOR)))
            names[region] = name
    return names


def find_path_roots(labels: LabelSpace, ids: np.ndarray) -> set[str]:
    """Return the first parts of the labels' names, in small letters, where most names are paths without spaces."""
    roots: Counter[str] = Counter()
    for label in ids.tolist():
        name = labels.names[label]
        found = PATH.search(name)
        if found and " " not in name:
            roots[name[: found.start()].lower()] += 1
    if sum(roots.values()) < MIN_PATH_SHARE * len(ids):
        return set()
    return set(roots)


def split_words(text: str) -> set[str]:
    """Return the words of a name in small letters: `BivariateSpline` has two."""
    return {word.lower() for word in WORD.findall(CAMEL.sub(" ", text)) if len(word) >= MIN_WORD_LENGTH}


def _find_common_terms(dataset: Dataset) -> set[str]:
    """Return the terms that many training documents have."""
    train = dataset.train
    if train.features.names is None:
        return set()
    counts = np.bincount(train.X.indices, minlength=train.X.shape[1])
    many = np.flatnonzero(counts > MAX_DOCUMENT_SHARE * max(len(train), 1))
    return {train.features.get_name(term).lower() for term in many.tolist()}


def _count_words(regions: list[np.ndarray], dataset: Dataset, common: set[str]) -> list[dict[str, float]]:
    """Return for each region the share of its labels that have a word, by word."""
    labels, train = dataset.labels, dataset.train
    by_label = sparse.csc_array(train.Y)  # documents of a label
    found = []
    for members in regions:
        chosen = members[:: max(1, len(members) // MAX_LABELS_PER_REGION)][:MAX_LABELS_PER_REGION]
        counts: Counter[str] = Counter()
        for label in chosen.tolist():
            counts.update(split_words(labels.names[label]))
        shares = {word: count / len(chosen) for word, count in counts.items()}
        if labels.Z is not None and labels.features is not None:
            _raise_shares(shares, _average_terms(labels.Z[chosen]), labels.features.get_name, TEXT_WEIGHT)
        if train.features.names is not None:
            rows = [
                by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]][:MAX_DOCUMENTS_PER_LABEL]
                for label in chosen.tolist()
            ]
            documents = np.unique(np.concatenate(rows)) if rows else np.empty(0, np.int64)
            if len(documents):
                _raise_shares(
                    shares, _average_terms(train.X[documents]), train.features.get_name, DOCUMENT_WEIGHT, common
                )
        found.append(shares)
    return found


def _average_terms(rows: sparse.csr_array) -> np.ndarray:
    """Return the share of rows that have each term."""
    return np.asarray(fill_with_ones(sparse.csr_array(rows)).mean(axis=0)).ravel()


def _raise_shares(
    shares: dict[str, float],
    terms: np.ndarray,
    get_name: Callable[[int], str],
    weight: float,
    common: Collection[str] = (),
) -> None:
    """Let a word that is not common have the share of the term with its name where that is larger."""
    for term in np.argsort(-terms, kind="stable")[:MAX_TERMS_PER_REGION].tolist():
        name = get_name(term).lower()
        if terms[term] > 0 and len(name) >= MIN_WORD_LENGTH and WORD.fullmatch(name) and name not in common:
            shares[name] = max(shares.get(name, 0.0), weight * float(terms[term]))


def _rank_words(shares: list[dict[str, float]], banned: set[str]) -> list[list[str]]:
    """Return the words that set each region apart, the strongest first."""
    total: Counter[str] = Counter()
    n_regions: Counter[str] = Counter()
    for each in shares:
        total.update(each)
        n_regions.update(word for word, share in each.items() if share >= MIN_COMMON_SHARE)
    most = max(2.0, MAX_REGION_SHARE * len(shares))
    ranked = []
    for each in shares:
        weights = {
            word: share * np.log1p(1.0 / total[word])
            for word, share in each.items()
            if word not in banned and n_regions[word] <= most and share >= MIN_COMMON_SHARE
        }
        ranked.append(sorted(weights, key=lambda word: (-weights[word], word))[:CANDIDATES])
    return ranked


def join_phrases(words: list[str], members: np.ndarray, labels: LabelSpace) -> list[str]:
    """Return the words; two that stand in a row and nearly always come together are one phrase."""
    chosen = members[:: max(1, len(members) // MAX_LABELS_PER_REGION)][:MAX_LABELS_PER_REGION].tolist()
    having: dict[str, set[int]] = {word: set() for word in words}
    phrases: set[str] = set()
    for label in chosen:
        for word in split_words(labels.names[label]) & having.keys():
            having[word].add(label)
    if labels.Z is not None and labels.features is not None:
        rows = sparse.csc_array(labels.Z[chosen])
        for term in np.flatnonzero(np.diff(rows.indptr)).tolist():
            name = labels.features.get_name(term).lower()
            if name in having:
                having[name].update(chosen[row] for row in rows.indices[rows.indptr[term] : rows.indptr[term + 1]])
            elif " " in name and having.keys() >= set(name.split()):
                phrases.add(name)
    joined: list[str] = []
    for word in words:
        both = ((each, phrase) for each in joined for phrase in (f"{each} {word}", f"{word} {each}"))
        found = next((pair for pair in both if pair[1] in phrases and _is_phrase(having[pair[0]], having[word])), None)
        if found is None or _is_same_word(found[0], word):
            joined.append(word)
        else:
            joined[joined.index(found[0])] = found[1]
            having[found[1]] = having[word]
    return joined


def _is_phrase(one: set[int], other: set[int]) -> bool:
    return bool(one) and len(one & other) > MAX_TOGETHER_SHARE * len(one | other)


def _choose_name(words: list[str], taken: set[frozenset[str]], above: str) -> str:
    """Return the best two words that no other region has; nothing where there are none."""
    upper = above.split(SEPARATOR)
    # Words of the region above come last: they set nothing apart inside of it.
    words = sorted(words, key=lambda word: word in upper)
    for first in range(len(words)):
        for second in words[first + 1 :]:
            pair = frozenset((words[first], second))
            if _is_same_word(words[first], second) or pair in taken:
                continue
            return f"{words[first]}{SEPARATOR}{second}"
    return next((word for word in words if frozenset((word,)) not in taken and word != above), "")


def _is_same_word(one: str, other: str) -> bool:
    """Return whether two words are forms of one, such as spline and splines."""
    shorter, longer = sorted((one, other), key=len)
    stem = shorter[: max(MIN_WORD_LENGTH, len(shorter) - 1)]
    return longer.startswith(stem) or longer.endswith(shorter)


def _shorten_path(name: str) -> str:
    """Return the last part of a path, any other name whole."""
    last = name if " " in name else PATH.split(name)[-1]
    return (last or name).replace(SEPARATOR, " ")


def _name_by_labels(labels: np.ndarray, dataset: Dataset, taken: set[frozenset[str]]) -> str:
    """Return the names of the two most frequent labels: for labels that share no word."""
    frequencies = dataset.train.label_frequencies[labels]
    best = labels[np.lexsort((labels, -frequencies))][:2].tolist()
    name = SEPARATOR.join(_shorten_path(dataset.labels.names[label]) for label in best)
    number = 2
    unique = name
    while frozenset(unique.split(SEPARATOR)) in taken:
        unique, number = f"{name} {number}", number + 1
    return unique
