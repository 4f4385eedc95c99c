"""Devices are decided in one place and rejected with a clear message."""

from __future__ import annotations

import pytest
import torch

from xcwork.compute import device
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
