"""Devices are decided in one place and rejected with a clear message."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.support.emulated_accelerator import emulate
from xcwork.compute import device
from xcwork.compute.device_memory import FittingBatch
from xcwork.compute.precision import FIRST_SCALE, MixedPrecision, choose_precision
from xcwork.compute.ranks import take_own_gpu
from xcwork.compute.transfer import fetch_arrays, read_numbers, send_arrays
from xcwork.errors import ConfigError


def test_auto_takes_an_accelerator_before_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device.resolve_device("auto").type == "cpu"
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert device.resolve_device("auto").type == "mps"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device.resolve_device("auto").type == "cuda"


def test_a_missing_device_is_refused_with_what_to_use_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="'cuda' is not available on this machine; use 'auto' or 'cpu'"):
        device.resolve_device("cuda")


def test_an_unknown_device_is_refused_with_the_choices() -> None:
    with pytest.raises(ConfigError, match="one of auto, cpu, cuda, mps, got 'tpu'"):
        device.resolve_device("tpu")


def test_the_line_for_people_names_the_threads_of_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device.describe_device() == f"CPU, {torch.get_num_threads()} threads"


def test_a_glance_needs_no_torch_where_there_is_no_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device.platform, "system", lambda: "Linux")
    monkeypatch.setattr(device.Path, "exists", lambda _: False)
    monkeypatch.setattr(device.subprocess, "run", lambda *_, **__: pytest.fail("nobody has to be asked"))
    assert device.describe_device_without_torch().startswith("CPU, ")


def test_a_glance_asks_another_process_about_an_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(device.platform, "machine", lambda: "arm64")
    answer = type("Answer", (), {"stdout": "Apple GPU (MPS)\n"})
    monkeypatch.setattr(device.subprocess, "run", lambda *_, **__: answer)
    assert device.describe_device_without_torch() == "Apple GPU (MPS)"


def test_many_sessions_may_ask_for_one_thread_at_once():
    usual = torch.get_num_threads()
    first, second = device.use_one_thread(), device.use_one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert torch.get_num_threads() == 1
    second.__exit__(None, None, None)
    assert torch.get_num_threads() == usual
    with device.limit_threads(1000):
        assert torch.get_num_threads() == usual
    with device.limit_threads(1):
        assert torch.get_num_threads() == 1


@pytest.mark.parametrize(("local_rank", "n_gpus"), [(1, 2), (2, 2), (1, 0)])
def test_a_rank_takes_the_gpu_of_its_local_number(
    monkeypatch: pytest.MonkeyPatch, local_rank: int, n_gpus: int
) -> None:
    taken: list[int] = []
    monkeypatch.setenv("LOCAL_RANK", str(local_rank))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: n_gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_gpus)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    if n_gpus == 0:
        assert take_own_gpu() == "gloo"
    elif local_rank < n_gpus:
        assert take_own_gpu() == "cpu:gloo,cuda:nccl"
        assert taken == [local_rank]
    else:
        with pytest.raises(ConfigError, match="there are 2 GPUs here, but rank 3 of this machine"):
            take_own_gpu()
        assert taken == []


def test_auto_lowers_the_precision_on_gpus_made_for_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    large = (4096, 1024, 4096)
    for capability, expected in (((8, 0), "bfloat16"), ((7, 5), "float32")):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda capability=capability: capability)
        assert choose_precision("auto", torch.device("cuda"), large) == expected
    assert choose_precision("auto", torch.device("cpu"), large) == "float32"
    assert choose_precision("auto", torch.device("mps"), large) == "float32"
    assert choose_precision("float16", torch.device("cpu"), large) == "float16"


@pytest.mark.parametrize(
    ("product", "expected"),
    [
        ((128, 257, 100_000), "bfloat16"),
        ((32, 257, 100_000), "float32"),
        ((128, 33, 4_000), "float32"),
        ((0, 0, 0), "float32"),
    ],
)
def test_auto_lowers_the_precision_where_a_product_gains_by_it(
    product: tuple[int, int, int], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (8, 0))
    assert choose_precision("auto", torch.device("cuda"), product) == expected
    assert choose_precision("bfloat16", torch.device("cuda"), product) == "bfloat16"  # who asks for it gets it


def test_a_loss_in_float16_is_scaled_and_a_step_that_overflows_left_out() -> None:
    precision = MixedPrecision("float16", torch.device("cpu"), (1, 1, 1))
    weight = torch.ones(1, requires_grad=True)
    precision.scale((2 * weight).sum()).backward()
    assert weight.grad is not None
    assert weight.grad.item() == 2 * FIRST_SCALE
    assert precision.unscale([weight.grad])
    assert weight.grad.item() == 2.0
    assert not precision.unscale([torch.tensor([torch.inf])])
    assert precision.scale(torch.tensor(1.0)).item() == FIRST_SCALE / 2


def test_arrays_of_several_types_arrive_by_one_copy() -> None:
    arrays = [
        np.arange(5),
        np.array([[1.5, 2.5]], np.float32),
        np.array([True, False, True]),
        np.zeros((0, 3), np.float32),
        np.array([1.0, 2.0]),
    ]
    with emulate() as traffic:
        sent = send_arrays(torch.device("emu"), *arrays)
        assert (traffic.to_device, traffic.to_device_asynchronous) == (1, 1)
        for tensor, array in zip(sent, arrays, strict=True):
            np.testing.assert_array_equal(tensor.cpu().numpy(), array, strict=True)
        before = traffic.from_device
        fetched = fetch_arrays(*sent)
        assert traffic.from_device == before + 1
        for back, array in zip(fetched, arrays, strict=True):
            np.testing.assert_array_equal(back, array, strict=True)
            assert back.flags.aligned
            assert back.flags.writeable
        assert read_numbers([1.0, sent[4][1]]) == [1.0, 2.0]
    with emulate(float64=False):
        assert send_arrays(torch.device("emu"), arrays[4])[0].dtype == torch.float32
    here = send_arrays(torch.device("cpu"), arrays[0])[0]
    assert here.numpy().base is arrays[0] or np.shares_memory(here.numpy(), arrays[0])
    read_only = np.arange(3)
    read_only.flags.writeable = False
    assert send_arrays(torch.device("cpu"), read_only)[0].tolist() == [0, 1, 2]


def test_a_mean_loss_over_pieces_counts_documents(caplog: pytest.LogCaptureFixture) -> None:
    batch = FittingBatch(4, lambda n: n, torch.device("cpu"))
    asked: list[int] = []

    def step(rows: np.ndarray) -> torch.Tensor:
        asked.append(len(rows))
        if len(rows) > 2:
            raise torch.OutOfMemoryError("too much")
        return torch.tensor(float(rows.mean()))

    assert float(batch.run(np.arange(5), step)) == pytest.approx(2.0)
    assert asked == [4, 2, 2, 1]
    assert batch.size == 2
    assert "from 4 to 2 documents per step" in caplog.text
