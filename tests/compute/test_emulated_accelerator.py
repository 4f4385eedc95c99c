"""The emulated accelerator refuses what a GPU refuses, counts what it pays for, and computes what the CPU computes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.support.emulated_accelerator import Traffic, emulate
from xcwork.compute.device import DEVICES, has_float64, resolve_device
from xcwork.errors import ConfigError


@pytest.fixture
def traffic() -> Iterator[Traffic]:
    with emulate() as counted:
        yield counted


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def test_the_device_exists_inside_the_block_alone() -> None:
    with emulate():
        assert resolve_device("emu").type == "emu"
        assert "emu" in DEVICES
        assert resolve_device("auto").type != "emu"
    assert "emu" not in DEVICES
    with pytest.raises(ConfigError, match="device must be one of auto, cpu, cuda, mps, got 'emu'"):
        resolve_device("emu")


def test_tensors_of_the_cpu_are_refused(traffic: Traffic) -> None:
    here, there = draw(3), draw(3).to("emu")
    for mix in (lambda: here + there, lambda: there @ here, lambda: there[torch.tensor([0])], lambda: here.add_(there)):
        with pytest.raises(RuntimeError, match="same device"):
            mix()
    torch.testing.assert_close((there * torch.tensor(2.0) + 1).cpu(), here * 2 + 1)  # a number may come along


def test_numpy_has_to_wait_for_cpu(traffic: Traffic) -> None:
    there = draw(3).to("emu")
    for read in (there.numpy, lambda: np.asarray(there)):
        with pytest.raises(TypeError, match=r"Use Tensor.cpu\(\) first"):
            read()
    np.testing.assert_array_equal(there.cpu().numpy(), draw(3).numpy())


def test_copies_and_waiting_are_counted(traffic: Traffic) -> None:
    there = draw(4, 2).to("emu")
    assert (traffic.to_device, traffic.to_device_bytes, traffic.from_device) == (1, 32, 0)
    assert traffic.synchronisations == 0
    for wait in (
        lambda: there[0, 0].item(),
        lambda: bool((there > 9).any()),
        lambda: there.nonzero(),
        lambda: there.tolist(),
        lambda: there.cpu(),
        lambda: there[there > 0],
        lambda: torch.unique(there),
    ):
        before = traffic.copy()
        wait()
        assert traffic.subtract(before).synchronisations == 1, wait
    before = traffic.copy()
    (there @ there.T).relu().sum()
    assert traffic.subtract(before).transfers == traffic.subtract(before).synchronisations == 0
    assert traffic.subtract(before).kernels == 3
    assert any("test_emulated_accelerator.py" in place for place in traffic.places)


def test_products_count_their_operations_and_bytes(traffic: Traffic) -> None:
    a, b = draw(5, 7).to("emu"), draw(7, 3).to("emu")
    before = traffic.copy()
    a @ b
    spent = traffic.subtract(before)
    assert spent.operations == 2 * 5 * 7 * 3
    assert spent.moved_bytes == 4 * (5 * 7 + 7 * 3 + 5 * 3)


def test_page_locked_batches_are_copied_without_waiting(traffic: Traffic) -> None:
    draw(4).pin_memory().to("emu", non_blocking=True)
    draw(4).to("emu", non_blocking=True)  # not page-locked: the driver waits
    assert (traffic.to_device, traffic.to_device_asynchronous) == (2, 1)


def test_memory_is_given_back_and_may_run_out() -> None:
    with emulate(memory=1_000) as traffic:
        first = torch.zeros(200, device="emu")
        assert traffic.held_bytes == 800
        view = first[10:]
        del first
        with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate 400 bytes; 200 are free"):
            torch.zeros(100, device="emu")
        assert traffic.held_bytes == 800  # the view holds it
        del view
        assert traffic.held_bytes == 0
        torch.zeros(100, device="emu")
        assert traffic.peak_bytes == 800


def test_a_device_without_double_precision() -> None:
    with emulate(float64=False):
        assert not has_float64(resolve_device("emu"))
        for make in (
            lambda: torch.zeros(2, dtype=torch.float64, device="emu"),
            lambda: torch.as_tensor(np.ones(2), device="emu"),
            lambda: draw(2).to("emu").double(),
        ):
            with pytest.raises(TypeError, match="float64"):
                make()
        assert (draw(2).to("emu") * np.float64(2)).dtype == torch.float32


def test_tensors_made_on_the_device_have_their_size(traffic: Traffic) -> None:
    for make in (
        lambda device: torch.arange(5, device=device),
        lambda device: torch.arange(2.0, 5, 0.5, device=device),
        lambda device: torch.eye(3, device=device),
        lambda device: torch.eye(3, 2, device=device),
        lambda device: torch.linspace(0, 1, 4, device=device),
        lambda device: torch.full((2, 2), 7.0, device=device),
        lambda device: torch.tensor([[1, 2], [3, 4]], device=device),
        lambda device: torch.triu_indices(3, 3, device=device),
    ):
        _compare("made", make("cpu"), make("emu"))
        assert make("emu").shape == make("cpu").shape
    assert sorted(torch.randperm(5, device="emu").tolist()) == [0, 1, 2, 3, 4]


def test_random_numbers_of_the_device_are_its_own(traffic: Traffic) -> None:
    torch.manual_seed(3)
    here = torch.rand(5)
    torch.manual_seed(3)
    assert not torch.equal(torch.rand(5, device="emu").cpu(), here)
    torch.testing.assert_close(torch.rand(5), here)  # and leave those of the CPU alone


INDICES = torch.tensor([0, 2, 1, 2])
A, B, SQUARE = draw(4, 6), draw(6, 3, seed=1), draw(4, 4, seed=2)
OPERATIONS: dict[str, Callable[..., object]] = {
    "topk": lambda a: a.topk(3),
    "sort": lambda a: a.sort(dim=1, stable=True),
    "argsort": lambda a: a.argsort(dim=0),
    "cumsum": lambda a: a.cumsum(1),
    "where": lambda a: torch.where(a > 0, a, 0.0),
    "nonzero": lambda a: (a > 0).nonzero(),
    "masked_fill": lambda a: a.masked_fill(a < 0, -torch.inf),
    "unique": lambda a: torch.unique((a > 0).long(), return_inverse=True, return_counts=True),
    "logsumexp": lambda a: a.logsumexp(1),
    "quantile": lambda a: a.flatten().quantile(0.3),
    "norm": lambda a: F.normalize(a, dim=1),
    "cdist": lambda a: torch.cdist(a, a),
    "clamp": lambda a: a.clamp(min=-1, max=1).round(),
    "split": lambda a: torch.stack(a.split(2)),
    "bfloat16": lambda a: (a.bfloat16() @ a.bfloat16().T).float(),
    "half": lambda a: (a.half() @ a.half().T).float(),
    "cat": lambda a: torch.cat([a, a.new_zeros(1, 6), torch.ones_like(a[:1])]),
}
PAIRS: dict[str, Callable[..., object]] = {
    "einsum": lambda a, b: torch.einsum("ij,jk->ik", a, b),
    "bmm": lambda a, b: torch.bmm(a[None], b[None]),
    "addmm": lambda a, b: torch.addmm(torch.ones(3, device=a.device), a, b),
    "searchsorted": lambda a, b: torch.searchsorted(a.flatten().sort().values, b.flatten()),
    "cross_entropy": lambda a, b: F.cross_entropy(a @ b, torch.zeros(4, dtype=torch.int64, device=a.device)),
    "bce": lambda a, b: F.binary_cross_entropy_with_logits(a @ b, ((a @ b) > 0).float()),
}


@pytest.mark.filterwarnings("ignore")
def test_operations_give_what_the_cpu_gives(traffic: Traffic) -> None:
    for name, run in OPERATIONS.items():
        _compare(name, run(A), run(A.to("emu")))
    for name, run in PAIRS.items():
        _compare(name, run(A, B), run(A.to("emu"), B.to("emu")))
    for name, run in {
        "gather": lambda a, i: a.gather(1, i.expand(4, 4)),
        "index": lambda a, i: a[i],
        "index_add": lambda a, i: a.new_zeros(3, 6).index_add_(0, i, a),
        "scatter_add": lambda a, i: a.new_zeros(4, 6).scatter_add(1, i[:, None], a),
        "scatter_reduce": lambda a, i: a.new_zeros(3).scatter_reduce(0, i, a[:, 0], "amax"),
        "index_put": lambda a, i: a.clone().index_put_((i, i), a[:, 0], accumulate=True),
        "set": lambda a, i: torch.zeros_like(a).index_copy(0, torch.arange(4, device=a.device), a),
        "bincount": lambda a, i: torch.bincount(i, minlength=5),
        "repeat": lambda a, i: torch.repeat_interleave(a, i, dim=0),
        "embedding_bag": lambda a, i: F.embedding_bag(i, a, i.new_tensor([0, 2]), mode="sum"),
        "searchsorted": lambda a, i: torch.searchsorted(i.sort().values, i),
    }.items():
        _compare(name, run(A, INDICES), run(A.to("emu"), INDICES.to("emu")))
    positive = SQUARE @ SQUARE.T + torch.eye(4)
    for name, run in {
        "cholesky": lambda s: torch.cholesky_solve(s, torch.linalg.cholesky(s)),
        "eigh": lambda s: torch.linalg.eigh(s)[0],
        "qr": lambda s: torch.linalg.qr(s),
        "svd": lambda s: torch.linalg.svd(s)[1],
        "solve": lambda s: torch.linalg.solve(s, s[:, :1]),
        "triangular": lambda s: torch.linalg.solve_triangular(s.tril(), s, upper=False),
    }.items():
        _compare(name, run(positive), run(positive.to("emu")))


def _compare(name: str, here: object, there: object) -> None:
    here, there = ([value] if isinstance(value, torch.Tensor) else list(value) for value in (here, there))
    for a, b in zip(here, there, strict=True):
        assert (b.device.type, b.shape) == ("emu", a.shape), name
        torch.testing.assert_close(b.cpu(), a, msg=name)


def test_sparse_matrices_multiply(traffic: Traffic) -> None:
    dense = draw(5, 4).relu()
    right = draw(4, 3, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        csr = dense.to_sparse_csr()
        moved = csr.to("emu")
        assert moved.layout is torch.sparse_csr
        made = torch.sparse_csr_tensor(*(p.to("emu") for p in (csr.crow_indices(), csr.col_indices(), csr.values())))
        for there in (moved, made):
            torch.testing.assert_close((there @ right.to("emu")).cpu(), dense @ right)
            torch.testing.assert_close(there.to_dense().cpu(), dense)
            torch.testing.assert_close(there.cpu().to_dense(), dense)
            torch.testing.assert_close(torch.sparse.mm(there, right.to("emu")).cpu(), dense @ right)
        coo = dense.to_sparse().to("emu")
        torch.testing.assert_close((coo @ right.to("emu")).cpu(), dense @ right)
        torch.testing.assert_close(torch.sparse.mm(coo, coo.t()).to_dense().cpu(), dense @ dense.T)
        torch.testing.assert_close(dense.to("emu").to_sparse_csr().values().cpu(), csr.values())


def _train(device: str, kind: type[torch.optim.Optimizer], precision: torch.dtype | None = None) -> torch.Tensor:
    torch.manual_seed(0)
    table = torch.nn.EmbeddingBag(7, 4, mode="sum", sparse=kind is torch.optim.SparseAdam)
    top = torch.nn.Sequential(torch.nn.LayerNorm(4), torch.nn.Linear(4, 3))
    top.to(device)
    table.to(device)
    optimizer = kind(table.parameters(), lr=0.1)
    words, starts = torch.tensor([0, 1, 2, 5, 6]).to(device), torch.tensor([0, 2]).to(device)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast(device, precision, enabled=precision is not None):
            loss = F.cross_entropy(top(table(words, starts)), words[:2])
        loss.backward()
        optimizer.step()
    return table.weight.detach().cpu()


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.SparseAdam])
def test_training_gives_what_the_cpu_gives(traffic: Traffic, kind: type[torch.optim.Optimizer]) -> None:
    before = traffic.copy()
    there = _train("emu", kind)
    torch.testing.assert_close(there, _train("cpu", kind))
    assert traffic.subtract(before).from_device == 1  # the weights, at the end


def test_mixed_precision_lowers_products_alone(traffic: Traffic) -> None:
    a = draw(4, 6).to("emu").requires_grad_()
    with torch.autocast("emu", torch.bfloat16):
        product = a @ a.T
        assert product.dtype == torch.bfloat16
        assert product.softmax(1).dtype == torch.float32
        assert F.linear(a, a).dtype == torch.bfloat16
    product.sum().backward()
    assert a.grad.dtype == torch.float32
    torch.testing.assert_close(
        _train("emu", torch.optim.SGD, torch.bfloat16), _train("cpu", torch.optim.SGD), atol=0.02, rtol=0.1
    )
