"""Scored candidates of validation documents and what is true of them: what the weights of scores are learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from xcwork.core.topk import MISSING
from xcwork.methods.model import Params
from xcwork.methods.siamesexml.corpus import TokenCorpus
from xcwork.methods.siamesexml.scores import Member, ScoredCandidates, drop_pairs, score_candidates
from xcwork.methods.siamesexml.word_classifiers import WordClassifiers


@dataclass(frozen=True, eq=False)
class JudgedCandidates:
    """Documents that a training has not seen."""

    scored: ScoredCandidates
    truth: sparse.csr_array  # (n_documents, n_labels)
    frequencies: np.ndarray  # (n_labels,): training documents of each label
    group_of: np.ndarray | None = None  # (n_documents,): those with the same number share their labels

    @classmethod
    def collect(
        cls,
        members: Sequence[Member],
        words: WordClassifiers,
        params: Params,
        fitted: TokenCorpus,
        validation: TokenCorpus,
    ) -> JudgedCandidates:
        """Score candidates of the documents of `validation` with what was learned from those of `fitted`."""
        scored = score_candidates(
            members, validation.X, fitted.Z, words, size=params.shortlist, neighbours=params.neighbours
        )
        scored = replace(scored, ids=drop_pairs(scored.ids, validation.filtered))
        frequencies = np.bincount(fitted.Y.indices, minlength=fitted.Y.shape[1])
        return cls(scored, validation.Y, frequencies, validation.group_of)


def join_judged(parts: Sequence[JudgedCandidates]) -> JudgedCandidates:
    """Return documents of several trainings as if of one, whose labels are those of the first, then of the next, …

    A label can have no training document in one of them and some in another, so it counts as another label there.
    """
    if len(parts) == 1:
        return parts[0]
    width = max(part.scored.ids.shape[1] for part in parts)
    ids, values, first = [], [], 0
    for part in parts:
        lacking = width - part.scored.ids.shape[1]
        of_part = np.where(part.scored.ids == MISSING, MISSING, part.scored.ids + first)
        ids.append(np.pad(of_part, ((0, 0), (0, lacking)), constant_values=MISSING))
        values.append(np.pad(part.scored.values, ((0, 0), (0, 0), (0, lacking))))
        first += part.truth.shape[1]
    scored = ScoredCandidates(np.vstack(ids).astype(np.int32), np.concatenate(values, axis=1))
    truth = sparse.csr_array(sparse.block_diag([part.truth for part in parts], format="csr"))
    groups = [part.group_of for part in parts if part.group_of is not None]
    return JudgedCandidates(
        scored,
        truth,
        np.concatenate([part.frequencies for part in parts]),
        np.concatenate(groups) if len(groups) == len(parts) else None,
    )
