import pytest

from drbo.errors import SettingsError
from drbo.machine import torch_device
from drbo.machine.torch_device import check_device, chosen_device, need_torch


def test_a_device_is_checked_by_name():
    assert [check_device(name) for name in ("auto", "cpu")] == ["auto", "cpu"]
    with pytest.raises(SettingsError, match="device must be auto, cpu or cuda, got 'tpu'"):
        check_device("tpu")


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert (chosen_device("auto"), chosen_device("cuda")) == ("cpu", "cuda")  # checked before
    with pytest.raises(SettingsError, match="device 'cuda' is not available here"):
        check_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert (chosen_device("auto"), check_device("cuda")) == ("cuda", "cuda")


def test_without_torch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(torch_device, "has_torch", lambda: False)
    with pytest.raises(SettingsError, match="score 'gp' needs torch, which is not installed") as caught:
        need_torch("score 'gp'")
    assert caught.value.hint == "install it with: pip install 'drbo[torch]'"
    with pytest.raises(SettingsError, match="device 'cuda' needs torch"):
        check_device("cuda")
