"""Client of the JSON API of ``clientscope serve``, and searches, for commands."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, TypeVar

from pydantic import ValidationError

from clientscope.config import PageSettings
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.model.codec import adapter
from clientscope.query import Fields, Query, QueryError, parse
from clientscope.secret_files import require_private

_SHOWN = 10


def parsed(terms: Iterable[str], fields: Fields, now_ms: int) -> Query:
    """What the terms of a command line ask for.

    Raises:
        SettingsError: they can't be read; says where, and what was expected.
    """
    try:
        return parse(" ".join(terms), fields, now_ms)
    except QueryError as error:
        raise wrong_search(error.position, str(error), error.expected) from None


def wrong_search(position: int, detail: str, expected: Sequence[object]) -> SettingsError:
    """The error about a search.

    Args:
        position: where the mistake begins, in characters from 0.
        expected: what is possible there.
    """
    hint = f"expected: {', '.join(map(str, expected[:_SHOWN]))}" if expected else None
    return SettingsError(f"the search is wrong at character {position + 1}: {detail}", hint)


_TIMEOUT_S = 10.0
_NO_ROUTE = "Not Found"
"""FastAPI's answer for an address that no route of it has: serve is of an earlier release."""


Answer = TypeVar("Answer")


class UnknownResource(EnvironmentProblem):
    """What was asked for is not there: a client that serve doesn't know, or a table that history doesn't have."""


class Api:
    """Asks one copy of serve.

    Raises:
        SettingsError: the token's file can't be read, or every user can read it.
    """

    def __init__(self, settings: PageSettings) -> None:
        self._url = settings.url.rstrip("/")
        self._headers = {"accept": "application/json"}
        if settings.token_file is not None:
            require_private(settings.token_file, "--token-file", "the page's administrator has it")
            self._headers["authorization"] = f"Bearer {settings.token_file.read_text('utf-8').strip()}"

    def get(self, path: str, parameters: Mapping[str, object], answer: type[Answer]) -> Answer:
        """What answers ``GET api/v1/<path>``; parameters that are None or empty are left out.

        Args:
            answer: the model of the answer.  Further fields, of a later release, are ignored.

        Raises:
            EnvironmentProblem: nothing answers, or something else than clientscope, or it requires a token.
            UnknownResource: there is no such thing.
            SettingsError: a parameter is wrong; says where, if it is the search.
        """
        given = {name: value for name, value in parameters.items() if value is not None and value != ""}
        query = urllib.parse.urlencode(given, doseq=True)
        with self._open(f"{path}?{query}" if query else path) as response:
            try:
                return self._parsed(response.read(), answer)
            except (HTTPException, OSError) as error:
                raise self._unreachable(error) from None

    def _open(self, path: str) -> Any:
        request = urllib.request.Request(f"{self._url}/api/v1/{path}", headers=self._headers)  # noqa: S310 - the settings let only HTTP pass
        try:
            return urllib.request.urlopen(request, timeout=_TIMEOUT_S)  # noqa: S310
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(error.code, error.read(65_536)) from None
        except (OSError, HTTPException, ValueError) as error:
            raise self._unreachable(error) from None

    def _parsed(self, content: bytes, answer: type[Answer]) -> Answer:
        try:
            return adapter(answer).validate_json(content)
        except ValidationError as error:
            if error.errors()[0]["type"] == "json_invalid":
                raise self._unreachable(ValueError("the answer is no JSON")) from None
            raise another_form(f"the page at {self._url}", error, "serve") from None

    def _refused(self, status: int, body: bytes) -> Exception:
        try:
            said = json.loads(body)
            detail = _detail(said["detail"])
        except (ValueError, LookupError, TypeError):
            return self._unreachable(ValueError(f"status {status}"))
        if status in (401, 403):
            hint = "--token-file, or CLIENTSCOPE_PAGE_TOKEN_FILE, names the file that holds one"
            return EnvironmentProblem(f"the page at {self._url} requires a token", hint)
        if "position" in said:
            return wrong_search(int(said["position"]), detail, said.get("expected") or [])
        if status == HTTPStatus.NOT_FOUND:
            if detail == _NO_ROUTE:
                return EnvironmentProblem(f"the page at {self._url} can't answer this", "run the command in the release that serve has")
            return UnknownResource(detail, said.get("hint"))
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return EnvironmentProblem(detail, said.get("hint"))
        return SettingsError(detail, said.get("hint"))

    def _unreachable(self, error: Exception) -> EnvironmentProblem:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        hint = "--url is where the page is; is clientscope serve running?"
        return EnvironmentProblem(f"no clientscope serve answers at {self._url}: {reason}", hint)


def another_form(who: str, error: ValidationError, process: str) -> EnvironmentProblem:
    """The error about an answer that isn't as its model has it."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    # The field's name is the model's, never what was answered, which may be anything.
    field = next((part for part in first["loc"] if isinstance(part, str)), "as a whole")
    return EnvironmentProblem(
        f"{who} answers in another form ({field}: {first['type']})", f"run the command in the release that {process} has"
    )


def _detail(said: Any) -> str:
    """What was wrong; of a parameter that can't be so, its name and why, never its value."""
    if isinstance(said, list):
        first = said[0]
        return f"{first['loc'][-1]}: {first['msg']}"[:500]
    return str(said)[:500]
