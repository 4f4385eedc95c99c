"""The k best entries of every row of a tensor: score descending, then column ascending, as everywhere else."""

from __future__ import annotations

import torch

ID_BITS = 32


def find_top_k(scores: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids (n_rows, k) int64 and scores (n_rows, k) float32; -inf and NaN are never chosen: id -1, score -inf.

    PyTorch says nothing about which of several equal entries it takes. Only where equal entries lie on the border does
    that matter: then entries are ranked by whole numbers that hold score and column.
    """
    n_columns = scores.shape[1]
    k = min(k, n_columns)
    scores = torch.where(scores > -torch.inf, scores, -torch.inf)
    if k == 0:
        return scores.new_zeros((len(scores), 0), dtype=torch.int64), scores[:, :0]
    values, ids = torch.topk(scores, k, dim=1)
    if k < n_columns:
        last = values[:, -1:]
        is_cut = ((scores >= last).sum(dim=1, keepdim=True) > k) & (last > -torch.inf)
        if bool(is_cut.any()):
            ids = torch.topk(rank_by_score_and_column(scores), k, dim=1).indices
            values = torch.gather(scores, 1, ids)
    ids, order = torch.sort(ids, dim=1)
    values, order = torch.sort(torch.gather(values, 1, order), dim=1, descending=True, stable=True)
    ids = torch.gather(ids, 1, order)
    return torch.where(values > -torch.inf, ids, -1), values


def rank_by_score_and_column(scores: torch.Tensor) -> torch.Tensor:
    """Return whole numbers that order float32 entries of a row by score, and equal ones by column, int64."""
    bits = (scores + 0.0).view(torch.int32)  # -0 becomes 0
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(torch.int64)
    n_columns = scores.shape[1]
    column = torch.arange(n_columns - 1, -1, -1, device=scores.device)
    return (ordered << ID_BITS) + column
