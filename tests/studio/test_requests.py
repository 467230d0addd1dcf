"""What a request may hold."""

import asyncio

import pytest
from starlette.requests import Request

from drbo.errors import SettingsError
from drbo.studio.requests import json_of, number, word


def _request(body: bytes = b"", query: str = "") -> Request:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request({"type": "http", "method": "POST", "headers": [], "query_string": query.encode()}, receive)


def test_a_number_of_the_address_is_whole_and_short():
    found = [number(_request(query=text), "a") for text in ("a=3", "", "a=-2", "a=x", "a=99999999999", "a=1e3")]
    assert found == [3, -1, -1, -1, -1, -1]


def test_a_word_of_a_body_is_text():
    body = asyncio.run(json_of(_request(b'{"name": "x", "n": 3}')))
    assert word(body, "name") == "x"
    for wrong in ("n", "other"):
        with pytest.raises(SettingsError, match=f"'{wrong}'"):
            word(body, wrong)
    assert asyncio.run(json_of(_request())) == {}
