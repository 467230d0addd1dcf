"""What does not come from the page of this server is refused before anything of it is read."""

import asyncio
import json
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from drbo.errors import SettingsError
from drbo.studio import requests, server
from drbo.studio.server import application, listening

TOKEN, HOST = "secret", "127.0.0.1:8000"


class Session:
    def __init__(self, folder: Path) -> None:
        self.folder, self.opened, self.edits = folder, [], []

    def state(self, viewed: int = -1) -> dict[str, Any]:
        return {"table": "private"} if viewed == -1 else {"viewed": viewed}

    async def open(self, path: str) -> None:
        self.opened.append(path)

    async def knowledge(self) -> str:
        return 'roots = ["a"]'

    async def effect(self, source: str | None, target: str) -> str:
        return f"{source} on {target}"

    async def scatter(self, cause: str, effect: str) -> dict[str, Any]:
        return {"given": [cause, effect]}

    async def compare(self, numbers: tuple[int, int]) -> str:
        if numbers != (0, -1):
            raise SettingsError("there is no version <script>")
        return "<html>both</html>"

    async def edit(self, body: Any) -> None:
        self.edits.append(body)

    keep = ask = fit = stop = resume = take_dataset = edit


def ask(session: Session, path: str, method: str = "GET", body: bytes | list[bytes] = b"", **headers: str) -> Any:
    """Return the status, the headers and the body of an answer."""
    sent: list[dict[str, Any]] = []
    pieces = [body] if isinstance(body, bytes) else list(body)
    given = {"host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode()) for name, value in given.items() if value]
    path, _, query = path.partition("?")
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "headers": raw,
             "query_string": query.encode(), "http_version": "1.1", "scheme": "http", "root_path": ""}  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(application(session, TOKEN, frozenset({HOST}))(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(one.get("body", b"") for one in sent[1:])


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_the_page_is_served_under_a_strict_policy(session):
    status, headers, body = ask(session, f"/{TOKEN}/")
    assert (status, b"<title>drbo studio" in body) == (200, True)
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert b"<script>" not in body
    assert b"style=" not in body
    for name in server.PAGE:
        status, again, _ = ask(session, f"/{TOKEN}/page/{name}")
        assert (status, again["content-security-policy"]) == (200, policy)
        assert f"page/{name}".encode() in body


@pytest.mark.parametrize(
    "path", ["/", "/state", "/secre/state", "/secret1/state", "//state", "/secret", "/SECRET/state"]
)
def test_a_wrong_token_finds_nothing(session, path):
    status, headers, body = ask(session, path)
    assert (status, b"private" in body) == (404, False)
    assert "default-src 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example:8000"}, {"host": "127.0.0.1:8001"}, {"host": "127.0.0.1"}, {"host": ""},
        {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:8001"},
        {"origin": "https://127.0.0.1:8000"}, {"sec_fetch_site": "cross-site"}, {"sec_fetch_site": "same-site"},
    ],
)  # fmt: skip
def test_other_hosts_and_pages_are_refused_even_with_the_token(session, headers):
    for path, method in ((f"/{TOKEN}/state", "GET"), (f"/{TOKEN}/edit", "POST")):
        status, _, body = ask(session, path, method, b'{"do": "undo"}', **headers)
        assert (status, b"private" in body) == (403, False)
    assert session.edits == []


def test_the_own_page_may_ask_and_edit(session):
    own = {"origin": f"http://{HOST}", "sec_fetch_site": "same-origin"}
    assert json.loads(ask(session, f"/{TOKEN}/state", **own)[2]) == {"table": "private"}
    assert ask(session, f"/{TOKEN}/edit", "POST", b'{"do": "undo"}', **own)[0] == 200
    assert session.edits == [{"do": "undo"}]
    answer = ask(session, f"/{TOKEN}/effect", "POST", b'{"source": null, "target": "y"}')[2]
    assert json.loads(answer) == {"words": "None on y"}
    answer = ask(session, f"/{TOKEN}/scatter", "POST", b'{"cause": "x", "effect": "y"}')[2]
    assert json.loads(answer) == {"given": ["x", "y"]}
    assert json.loads(ask(session, f"/{TOKEN}/state?viewed=3")[2]) == {"viewed": 3}


def test_two_versions_are_a_page_with_a_policy_of_its_own(session):
    status, headers, body = ask(session, f"/{TOKEN}/compare?a=0&b=")
    assert (status, body, headers["content-type"]) == (200, b"<html>both</html>", "text/html; charset=utf-8")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    status, headers, body = ask(session, f"/{TOKEN}/compare?a=9&b=")
    assert (status, headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert ask(session, "/wrong/compare?a=0&b=")[0] == 404


@pytest.mark.parametrize(
    "path",
    ["page/../server.py", "page/..%2fserver.py", "page/%2e%2e/%2e%2e/said.py", "page//etc/passwd",
     "take/../studio.json", "take/studio.json", "take/result.json", "take/..", "etc/passwd", "../", "page/"],
)  # fmt: skip
def test_no_other_file_can_be_read(session, path):
    (session.folder / "studio.json").write_text("private")
    status, _, body = ask(session, f"/{TOKEN}/{path}")
    assert (status, b"private" in body) == (404, False)


def test_what_was_made_can_be_taken_away(session):
    assert ask(session, f"/{TOKEN}/take/report")[0] == 404
    (session.folder / "report.html").write_text("<script>1</script>")
    status, headers, body = ask(session, f"/{TOKEN}/take/report")
    assert (status, body) == (200, b"<script>1</script>")
    assert headers["content-disposition"].startswith("attachment")
    assert ask(session, f"/{TOKEN}/take/knowledge")[2] == b'roots = ["a"]'


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 90_000, b'{"do":' + b" " * 200_000 + b"1}", b'{"a":1,"a":2}'])
def test_a_request_that_is_no_json_or_too_large_is_refused(session, body):
    status, _, answer = ask(session, f"/{TOKEN}/edit", "POST", body)
    assert (status, session.edits) == (400, [])
    assert json.loads(answer)["error"]


def test_a_table_is_written_under_a_name_of_our_own(session):
    status, *_ = ask(session, f"/{TOKEN}/table?name=..%2F..%2Fx.CSV", "POST", [b"a,b\n", b"1,2\n"])
    (written,) = session.folder.iterdir()
    assert (status, written.read_bytes(), session.opened) == (200, b"a,b\n1,2\n", [str(written)])
    assert written.suffix == ".csv"
    assert written.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["x.py", "x", "", "x.csv.exe", ".bashrc"])
def test_a_file_of_another_kind_is_refused(session, name):
    status, _, answer = ask(session, f"/{TOKEN}/table?name={name}", "POST", b"1")
    assert (status, session.opened, list(session.folder.iterdir())) == (400, [], [])
    assert "known ending" in json.loads(answer)["error"]


def test_a_huge_table_is_refused_and_leaves_nothing(session, monkeypatch):
    status, *_ = ask(session, f"/{TOKEN}/table?name=x.csv", "POST", b"", content_length=str(2**30))
    assert status == 400
    monkeypatch.setattr(requests, "MAX_UPLOAD", 1000)
    status, *_ = ask(session, f"/{TOKEN}/table?name=x.csv", "POST", [b"x" * 400] * 5)
    assert (status, session.opened, list(session.folder.iterdir())) == (400, [], [])


def test_a_running_server_refuses_what_is_not_from_its_page(studio, place):
    opened = studio("-o", "run")
    _, _, host, token, _ = opened.address.split("/")
    name, _, port = host.partition(":")
    upload = {"Content-Length": str(2**30)}  # nothing of it is sent: it is refused before
    asked: list[tuple[str, str, dict[str, str], int]] = [
        ("GET", f"/{token}/state", {}, 200), ("GET", "/state", {}, 404), ("GET", "/wrong/state", {}, 404),
        ("GET", f"/{token}/state", {"Host": f"evil.example:{port}"}, 403),
        ("GET", f"/{token}/state", {"Host": f"0.0.0.0:{port}"}, 403),
        ("POST", f"/{token}/fit", {"Origin": "http://evil.example"}, 403),
        ("GET", f"/{token}/page/../../studio.json", {}, 404), ("GET", f"/{token}/../{token}/take/studio.json", {}, 404),
        ("GET", f"/{token}/page/..%2f..%2fserver.py", {}, 404), ("GET", f"/{token}/take/%2fetc%2fpasswd", {}, 404),
        ("POST", f"/{token}/table?name=x.csv", upload, 400),
    ]  # fmt: skip
    for method, path, headers, status in asked:
        connection = HTTPConnection(name, int(port), timeout=30)
        connection.putrequest(method, path, skip_host="Host" in headers)
        for header in headers.items():
            connection.putheader(*header)
        connection.endheaders()
        answer = connection.getresponse()
        assert answer.status == status, (method, path, headers)
        answer.read()
        answer.close()
        connection.close()
    assert list((place / "run").glob("table-*")) == []


def test_a_taken_port_is_told_in_words():
    ear = listening("127.0.0.1", 0)
    try:
        with pytest.raises(SettingsError, match="cannot listen") as caught:
            listening("127.0.0.1", ear.getsockname()[1])
        assert "--port 0" in str(caught.value)
    finally:
        ear.close()
