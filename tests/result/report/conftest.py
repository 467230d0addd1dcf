"""A headless Chromium, spoken to over its debugging pipe: no driver and no web socket is needed."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: Set where the browser must be there, as in CI: a missing one is then a failure.
REQUIRED = "DRBO_REQUIRE_CHROMIUM"


class Browser:
    """One page of a headless Chromium, and everything that it complained about."""

    def __init__(self, program: str, folder: str) -> None:
        to_browser, ours = os.pipe()
        back, from_browser = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run"]
        flags += [f"--user-data-dir={folder}", "--hide-scrollbars", "about:blank"]

        def place() -> None:  # the browser reads from 3 and writes to 4
            read, write = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser))
            os.dup2(read, 3, inheritable=True)
            os.dup2(write, 4, inheritable=True)

        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            [program, *flags], preexec_fn=place, close_fds=False, stdin=quiet, stdout=quiet, stderr=quiet
        )
        os.close(to_browser)
        os.close(from_browser)
        self._out, self._in = os.fdopen(ours, "wb", 0), os.fdopen(back, "rb")
        self._count, self._rest, self.complaints = 0, b"", []
        self.session: str | None = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self._out.write(json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != self._count:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = os.read(self._in.fileno(), 2**16)
            assert piece, "the browser ended"
            self._rest += piece
        raw, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"]["exception"].get("description", str(params)))
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str([argument.get("value") for argument in params["args"]]))
        return message

    def open(
        self, place: Path | str, width: int = 1280, height: int = 900, dark: bool = False, script: bool = True
    ) -> None:
        self.complaints.clear()
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=scheme, media="")
        self.send("Emulation.setScriptExecutionDisabled", value=not script)
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.send("Page.navigate", url=place if isinstance(place, str) else place.as_uri())
        while self._receive().get("method") != "Page.loadEventFired":
            pass

    def run(self, program: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.send("Runtime.evaluate", expression=program, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path: Path, whole: bool = False) -> None:
        answer = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)
        self._out.close()
        self._in.close()


def start() -> Browser | None:
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        return None
    return Browser(program, tempfile.mkdtemp(prefix="drbo-browser-"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = start()
    if found is None:
        if os.environ.get(REQUIRED):
            pytest.fail(f"no Chromium found although {REQUIRED} is set")
        pytest.skip("no Chromium is installed: the report is not looked at in a browser")
    yield found
    found.close()
