"""Automatic mixed precision of the emulated device: products in the lower precision, sums and losses in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

# The lists that PyTorch has for CUDA, as far as xcwork uses such operations.
_LOWER = ("mm", "addmm", "bmm", "baddbmm", "addbmm", "linear", "matmul", "mv", "addmv")
_FLOAT32 = (
    "softmax.int",
    "log_softmax.int",
    "nll_loss",
    "binary_cross_entropy_with_logits",
    "exp",
    "log",
    "log1p",
    "pow.Tensor_Scalar",
    "sum",
    "sum.dim_IntList",
    "cumsum",
    "prod",
    "norm.ScalarOpt_dim",
    "linalg_vector_norm",
    "cdist",
    "cosine_similarity",
    "mse_loss",
    "logsumexp",
)
_OUTSIDE = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)


def register_autocast(library: torch.library.Library, name: str) -> None:
    """Let `torch.autocast` work for tensors of the device `name`."""
    for operation in _LOWER:
        library.impl(operation, _cast_first(operation, lambda: torch.get_autocast_dtype(name)), "AutocastPrivateUse1")
    for operation in _FLOAT32:
        library.impl(operation, _cast_first(operation, lambda: torch.float32), "AutocastPrivateUse1")


def _cast_first(operation: str, choose: Callable[[], torch.dtype]) -> Callable[..., Any]:
    packet, _, overload = operation.partition(".")
    call = getattr(getattr(torch.ops.aten, packet), overload or "default")

    def run(*args: Any, **kwargs: Any) -> Any:
        def cast(value: Any) -> Any:
            is_float = isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != torch.float64
            return value.to(choose()) if is_float else value

        with torch._C._ExcludeDispatchKeyGuard(_OUTSIDE):
            return call(*pytree.tree_map(cast, args), **pytree.tree_map(cast, kwargs))

    return run
