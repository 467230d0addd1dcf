"""Serves the page of a studio to one person on one machine.

Every address begins with a random token. Requests for another host (DNS rebinding), from another page (Origin), with a
larger body than allowed or for any other path are refused before anything is read. The page names no file of the
machine, and its policy lets it load and send nothing beyond this server.
"""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from drbo.data.reading.read import ENDINGS
from drbo.deadline import current
from drbo.errors import DrboError, SettingsError
from drbo.result.files.run_folder import PICTURE, REPORT
from drbo.result.report.page import LIBRARY, LIBRARY_STYLE, source_of_page, text_hash
from drbo.studio.requests import json_of, number, received, word
from drbo.studio.session import Session

LOOKS, PING_SECONDS = 0.2, 15.0  # between looks at the deadline, and between signs of life
POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' '{text_hash(LIBRARY_STYLE)}'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
#: For a page that has a policy of its own, with the hashes of its programs.
FRAMES = {"content-security-policy": "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}
#: What the page loads, from the studio or, where both show the same, from the report.
PAGE = {
    "plots.js": ("studio", "text/javascript"),
    "studio.js": ("studio", "text/javascript"),
    "studio.css": ("studio", "text/css"),
    "report.css": ("report", "text/css"),
    "graph.js": ("report", "text/javascript"),
    LIBRARY.rpartition("/")[2]: ("vendor", "text/javascript"),
}
#: What can be taken away: the file in the run, and its type.
FILES = {"report": (REPORT, "text/html"), "edges": ("edges.csv", "text/csv"), "picture": (PICTURE, "image/svg+xml")}


class RequestGuard:
    """Refuses what does not come from the page of this server, before anything of it is read."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str]) -> None:
        self._app, self._token, self._hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on without the token in its path, or refuse it."""
        if scope["type"] != "http":
            return
        status = self._refusal(scope)
        if status:
            words = {403: "this address is for another page", 404: "there is nothing here"}[status]
            await Response(words, status, HEADERS)(scope, receive, send)
            return
        path = "/" + scope["path"].split("/", 2)[2]
        await self._app({**scope, "path": path, "raw_path": path.encode()}, receive, send)

    def _refusal(self, scope: Scope) -> int:
        headers = [(name.lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == b"host"]
        origins = [value for name, value in headers if name == b"origin"]
        if len(hosts) != 1 or hosts[0] not in self._hosts or any(one != f"http://{hosts[0]}" for one in origins):
            return 403
        if any(name == b"sec-fetch-site" and value in ("cross-site", "same-site") for name, value in headers):
            return 403
        parts = scope["path"].split("/", 2)
        given = parts[1].encode() if len(parts) == 3 else b""
        return 0 if secrets.compare_digest(given, self._token.encode()) else 404


class Pages:
    """The answers to the page."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def routes(self) -> list[Route]:
        """Return the routes; the token is gone from their paths."""
        actions: dict[str, Callable[[Any], Awaitable[None]]] = {
            "edit": self._session.edit,
            "answer": self._session.ask,
            "keep": self._session.keep,
            "dataset": lambda body: self._session.take_dataset(word(body, "name")),
            "fit": lambda _: self._session.fit(),
            "stop": lambda _: self._session.stop(),
            "resume": lambda _: self._session.resume(),
        }
        return [
            Route("/", self._page),
            Route("/page/{name}", self._part),
            Route("/state", self._state),
            Route("/events", self._events),
            Route("/take/{what}", self._take),
            Route("/compare", self._compare),
            Route("/effect", self._effect, methods=["POST"]),
            Route("/scatter", self._scatter, methods=["POST"]),
            Route("/table", self._upload, methods=["POST"]),
            *(Route(f"/{name}", self._told(act), methods=["POST"]) for name, act in actions.items()),
        ]

    async def _page(self, _: Request) -> Response:
        return Response(_page_text("studio.html"), media_type="text/html", headers=HEADERS)

    async def _part(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in PAGE:
            return Response("there is nothing here", 404, HEADERS)
        where, kind = PAGE[name]
        text = _page_text(name) if where == "studio" else source_of_page(LIBRARY if where == "vendor" else name)
        return Response(text, media_type=kind, headers=HEADERS)

    async def _state(self, request: Request) -> Response:
        return JSONResponse(self._session.state(number(request, "viewed")), headers=HEADERS)

    async def _events(self, _: Request) -> Response:
        return StreamingResponse(self._news(), media_type="text/event-stream", headers=HEADERS)

    async def _news(self) -> AsyncIterator[str]:
        seen = -1
        while True:
            try:
                seen = await asyncio.wait_for(self._session.wait(seen), PING_SECONDS)
                yield f"data: {seen}\n\n"
            except TimeoutError:
                yield ": still here\n\n"

    async def _take(self, request: Request) -> Response:
        what = request.path_params["what"]
        if what == "knowledge":
            text = await self._session.knowledge()
            return _attached("knowledge.toml", text.encode(), "application/toml")
        name, kind = FILES.get(what, ("", ""))
        path = self._session.folder / name
        if not name or not path.is_file():
            return Response("there is nothing here", 404, HEADERS)
        return _attached(name, await asyncio.to_thread(path.read_bytes), kind)

    async def _effect(self, request: Request) -> Response:
        async def answer() -> dict[str, Any]:
            body = await json_of(request)
            source = None if body.get("source") is None else word(body, "source")
            return {"words": await self._session.effect(source, word(body, "target"))}

        return await _answered(answer)

    async def _scatter(self, request: Request) -> Response:
        async def answer() -> dict[str, Any]:
            body = await json_of(request)
            return await self._session.scatter(word(body, "cause"), word(body, "effect"))

        return await _answered(answer)

    async def _compare(self, request: Request) -> Response:
        try:
            page = await self._session.compare((number(request, "a"), number(request, "b")))
        except DrboError as error:
            return Response(str(error), 400, HEADERS, media_type="text/plain")
        return Response(page.encode(errors="backslashreplace"), 200, HEADERS | FRAMES, media_type="text/html")

    async def _upload(self, request: Request) -> Response:
        async def answer() -> dict[str, Any]:
            name = request.query_params.get("name", "")
            ending = max((one for one in ENDINGS if name.lower().endswith(one)), key=len, default="")
            if not ending:
                raise SettingsError(f"'{name[-80:]}' has no known ending", hint=f"known are {', '.join(ENDINGS)}")
            path = self._session.folder / f"table-{secrets.token_hex(4)}{ending}"
            await received(request, path)
            await self._session.open(str(path))
            return {}

        return await _answered(answer)

    @staticmethod
    def _told(act: Callable[[Any], Awaitable[None]]) -> Callable[[Request], Awaitable[Response]]:
        """Return what takes a JSON body and answers with nothing, or with an error in words."""

        async def handle(request: Request) -> Response:
            async def answer() -> dict[str, Any]:
                await act(await json_of(request))
                return {}

            return await _answered(answer)

        return handle


async def _answered(answer: Callable[[], Awaitable[dict[str, Any]]]) -> Response:
    try:
        return JSONResponse(await answer(), headers=HEADERS)
    except DrboError as error:
        content = {"error": error.message, "hint": error.hint, "column": error.column}
        return JSONResponse(content, 400, headers=HEADERS)


def _attached(name: str, content: bytes, kind: str) -> Response:
    headers = HEADERS | {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)


def _page_text(name: str) -> str:
    return files("drbo.studio").joinpath("page", name).read_text(encoding="utf-8")


def application(session: Session, token: str, hosts: frozenset[str]) -> ASGIApp:
    """Return the program that answers requests; ``hosts`` are the values of Host that it takes."""
    return RequestGuard(Starlette(routes=Pages(session).routes()), token, hosts)


class _Server(uvicorn.Server):
    """A server that leaves signals to the command."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen()
    except OSError as error:
        found.close()
        raise SettingsError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}",
            hint="another program uses it: choose another one with --port, or any that is free with --port 0",
        ) from error
    return found


def serve(session: Session, ear: socket.socket, host: str, opened: Callable[[str], None]) -> None:
    """Serve the page until somebody stops it; ``opened`` is told its address."""
    port, token = ear.getsockname()[1], secrets.token_urlsafe(24)
    name = f"[{host}]" if ":" in host else host
    hosts = frozenset(f"{one}:{port}" for one in {name, *(["localhost"] if host == "127.0.0.1" else [])})
    quiet: dict[str, Any] = {"log_level": "critical", "access_log": False, "server_header": False, "lifespan": "off"}
    server = _Server(uvicorn.Config(application(session, token, hosts), timeout_graceful_shutdown=1, **quiet))

    async def run() -> None:
        deadline = current()
        watch = asyncio.create_task(server.serve(sockets=[ear]))
        try:
            await session.open()
            opened(f"http://{name}:{port}/{token}/")
            while not watch.done() and not deadline.over():
                await asyncio.wait([watch], timeout=LOOKS)
        finally:
            server.should_exit = True
            await session.close()
            with suppress(asyncio.CancelledError):
                await watch
            ear.close()

    asyncio.run(run())
