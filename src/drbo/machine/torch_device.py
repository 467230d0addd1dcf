"""The optional dependency torch: whether it is installed, and the device that it computes on."""

from importlib.util import find_spec
from typing import Literal, get_args

from drbo.errors import SettingsError

Device = Literal["auto", "cpu", "cuda"]
INSTALL = "install it with: pip install 'drbo[torch]'"


def has_torch() -> bool:
    """Tell whether torch is installed, without loading it."""
    return find_spec("torch") is not None


def need_torch(what: str) -> None:
    """Refuse something that computes with torch where torch is not installed; ``what`` names it in the error."""
    if not has_torch():
        raise SettingsError(f"{what} needs torch, which is not installed", hint=INSTALL)


def check_device(name: Device) -> Device:
    """Return the name of a device, or say why there is none."""
    if name not in get_args(Device):
        raise SettingsError(f"device must be auto, cpu or cuda, got {name!r}", hint="the default is 'auto'")
    if name == "cuda":
        need_torch("device 'cuda'")
        if chosen_device("auto") == "cpu":
            raise SettingsError("device 'cuda' is not available here", hint="use device='auto' or 'cpu'")
    return name


def chosen_device(name: str) -> str:
    """Return "cpu" or "cuda" for a checked name: "auto" is the GPU where there is one. Loads torch."""
    if name != "auto":
        return name
    import torch  # takes a second or two: only what computes with it asks for a device

    return "cuda" if torch.cuda.is_available() else "cpu"
