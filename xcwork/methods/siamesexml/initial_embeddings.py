"""Where token embeddings start: from the data itself, from a file of word vectors, or from nothing.

- `svd`: the first singular directions of the tf-idf rows of documents and labels together (latent semantic analysis),
  so that cosines of texts start as their smoothed tf-idf cosines.
- `pmi`: the first eigenvectors of the positive pointwise mutual information of tokens that occur in the same texts,
  max(0, ln(p(s, t) / p(s) p(t))), scaled by √eigenvalue: tokens used alike start alike.
- `random`: normal values.
- a file: one word and its numbers per line, as word2vec, GloVe and fastText write them. A pair of words starts as the
  sum of its two.

Every token starts at length 1, so that rare ones count, and gets a random direction besides what the source says about
it: equal words are then told from similar ones, and a token about which the source says nothing has a place, too.
"""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
from scipy import sparse

from xcwork.compute.device import use_one_thread
from xcwork.compute.parallel import multiply_on_one_thread
from xcwork.errors import ConfigError, DataError
from xcwork.sparse import fill_with_ones, normalise_rows

log = logging.getLogger(__name__)

TABLE_SOURCES = ("svd", "pmi", "random")
SENTENCE = "sentence"  # no tokens: embeddings of whole texts by a sentence encoder
POWER_ITERATIONS = 3  # of the randomised decomposition
EXTRA_DIRECTIONS = 10  # that it follows besides those wanted
MAX_COOCCURRENCES = 30_000_000  # of tokens, to be counted


def make_initial_table(texts: sparse.csr_array, source: str, dimension: int, seed: int) -> np.ndarray:
    """Return a row for every token, (n_tokens, dimension) float32, from the rows of all texts (n_texts, n_tokens)."""
    if source == "random":
        return mix_with_random(np.zeros((texts.shape[1], dimension), np.float32), seed)
    directions = decompose(texts if source == "svd" else compute_ppmi(texts), dimension, seed, root=source == "pmi")
    return mix_with_random(directions, seed)


def decompose(matrix: sparse.csr_array, dimension: int, seed: int, root: bool) -> np.ndarray:
    """Return the right singular vectors as columns, times √σ where `root` is set; (n_columns, ≤ dimension).

    On one thread: several would add up in another order, and training goes on from the last bit.
    """
    rank = min(dimension, *matrix.shape)
    with use_one_thread(), multiply_on_one_thread():
        if min(matrix.shape) <= 2 * dimension and max(matrix.shape) <= 20 * dimension:
            _, values, right = np.linalg.svd(matrix.toarray().astype(np.float64), full_matrices=False)
        else:
            values, right = iterate_subspace(matrix, rank, seed)
    right, values = right[:rank], values[:rank]
    right = right[values > 1e-6 * values.max(initial=0)]
    columns = right.T * (np.sqrt(values[: len(right)]) if root else 1)
    return np.ascontiguousarray(columns, np.float32)


def iterate_subspace(matrix: sparse.csr_array, rank: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest singular values and their right vectors as rows, nearly; of at least `rank` directions.

    Only vectors as long as the shorter side are made orthogonal: a table of tokens is long.
    """
    import torch  # which takes long to import: a list of methods does without it

    is_wide = matrix.shape[0] <= matrix.shape[1]
    short = matrix if is_wide else sparse.csr_array(matrix.T)  # (shorter side, longer side)
    n_directions = min(rank + EXTRA_DIRECTIONS, short.shape[0])
    basis = np.random.default_rng((seed, 3)).standard_normal((short.shape[0], n_directions), np.float32)
    for _ in range(POWER_ITERATIONS):
        reached = torch.from_numpy(short @ (short.T @ basis))
        basis = torch.linalg.qr(reached).Q.numpy()  # in single precision, which numpy does in double
    squares, rotation = np.linalg.eigh((basis.T @ (short @ (short.T @ basis))).astype(np.float64))
    values = np.sqrt(np.maximum(squares[::-1], 0))
    left = basis @ rotation[:, ::-1].astype(np.float32)  # singular vectors of the shorter side
    if not is_wide:
        return values, left.T
    known = values > 1e-6 * values.max(initial=0)
    return values[known], ((short.T @ left[:, known]) / values[known].astype(np.float32)).T


def compute_ppmi(texts: sparse.csr_array) -> sparse.csr_array:
    """Return max(0, pointwise mutual information) of tokens by the texts they share."""
    present = fill_with_ones(texts)
    lengths = np.diff(texts.indptr).astype(np.int64)
    costs = np.cumsum(np.sort(lengths**2))
    if costs[-1] > MAX_COOCCURRENCES:  # the longest texts have the most pairs and say the least about each
        longest = np.sort(lengths)[np.searchsorted(costs, MAX_COOCCURRENCES)]
        present = present[lengths <= longest]
        log.info("texts of more than %d tokens are left out of the co-occurrence counts", longest)
    together = sparse.coo_array(present.T @ present)
    counts = present.sum(axis=0)
    information = np.log(together.data * present.shape[0] / (counts[together.row] * counts[together.col]))
    keep = information > 0
    entries = (information[keep].astype(np.float32), (together.row[keep], together.col[keep]))
    return sparse.csr_array(entries, shape=together.shape)


def read_table(path: str, names: list[str] | None, n_tokens: int) -> np.ndarray:
    """Return the vectors of the words in a text file, zeros for others; the dimension is that of the file."""
    if names is None:
        raise ConfigError("word vectors need words, and the features of this dataset have no names; unset `vectors`")
    wanted = {word for name in names for word in name.split()}
    vectors = read_vectors(Path(path), wanted)
    if not vectors:
        raise DataError("no word of this dataset is in the file", file=path, remedy="check language and lower case")
    dimension = len(next(iter(vectors.values())))
    table = np.zeros((n_tokens, dimension), np.float32)
    for token, name in enumerate(names):
        for word in name.split():
            table[token] += vectors.get(word, 0)
    known = np.count_nonzero(table.any(axis=1))
    log.info("%d of %d tokens have a vector in %s", known, n_tokens, path)
    return table


def read_vectors(path: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    """Return the vectors of the words in `wanted`."""
    vectors: dict[str, np.ndarray] = {}
    dimension = None
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, start=1):
                word, *numbers = line.rstrip().split(" ")
                if number == 1 and len(numbers) == 1:
                    continue  # the header of word2vec and fastText: how many words, how many numbers
                dimension = dimension or len(numbers)
                if len(numbers) != dimension or dimension == 0:
                    raise DataError(f"{len(numbers)} numbers where {dimension} belong", file=path, line=number)
                if word in wanted:
                    vectors[word] = np.array(numbers, np.float32)
    except OSError as problem:
        raise DataError(f"the word vectors cannot be read ({problem.strerror})", file=path) from None
    except ValueError:
        raise DataError("this is not a word followed by numbers", file=path, line=number) from None
    return vectors


def mix_with_random(table: np.ndarray, seed: int) -> np.ndarray:
    """Return unit rows: half what the source says about the token, half random numbers that make it recognisable."""
    random = np.random.default_rng((seed, 1)).standard_normal(table.shape, np.float32)
    return normalise_rows(normalise_rows(table) + normalise_rows(random))


def fill_missing_rows(table: np.ndarray, seed: int) -> np.ndarray:
    """Return the rows as given, and random ones of their mean length instead of zeros."""
    lengths = np.linalg.norm(table, axis=1)
    missing = np.flatnonzero(lengths == 0)
    random = np.random.default_rng((seed, 1)).standard_normal((len(missing), table.shape[1]), np.float32)
    table[missing] = normalise_rows(random) * lengths[lengths > 0].mean()
    return table
