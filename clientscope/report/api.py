"""The JSON API of ``clientscope serve``, as commands ask it."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing
from http.client import HTTPException
from typing import Any

from clientscope.config import PageSettings
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.secret_files import require_private

_TIMEOUT_S = 10.0
_SILENT_S = 15.0
"""An event stream says every five seconds that it lives."""


class Api:
    """Asks one copy of serve.

    Raises:
        SettingsError: the token's file can't be read, or everybody can read it.
    """

    def __init__(self, settings: PageSettings) -> None:
        self._url = settings.url.rstrip("/")
        self._headers = {"accept": "application/json"}
        if settings.token_file is not None:
            require_private(settings.token_file, "--token-file", "the page's administrator has it")
            self._headers["authorization"] = f"Bearer {settings.token_file.read_text('utf-8').strip()}"

    def get(self, path: str, parameters: Mapping[str, object]) -> dict[str, Any]:
        """What answers ``GET api/v1/<path>``; parameters that are empty are left out.

        Raises:
            EnvironmentProblem: nobody answers, or not a clientscope, or it wants a token.
            SettingsError: a parameter is wrong; says where, if it is the search.
        """
        query = urllib.parse.urlencode({name: value for name, value in parameters.items() if value not in ("", None)})
        with self._open(f"{path}?{query}" if query else path, _TIMEOUT_S) as response:
            try:
                return dict(json.load(response))
            except (ValueError, HTTPException, OSError) as error:
                raise self._unreachable(error) from None

    def overviews(self) -> Iterator[dict[str, Any]]:
        """The overview, each time that something changed.

        Raises:
            EnvironmentProblem: as `get`; or the stream ended, or fell silent.
        """
        with closing(self._open("events", _SILENT_S)) as response:
            event = b""
            try:
                for line in response:
                    if line.startswith(b"event:"):
                        event = line[6:].strip()
                    elif line.startswith(b"data:") and event == b"changed":
                        yield json.loads(line[5:])
            except (ValueError, HTTPException, OSError) as error:
                raise self._unreachable(error) from None
        raise EnvironmentProblem(f"the page at {self._url} has ended", "is clientscope serve restarting?")

    def _open(self, path: str, timeout_s: float) -> Any:
        request = urllib.request.Request(f"{self._url}/api/v1/{path}", headers=self._headers)  # noqa: S310 - the settings let only HTTP pass
        try:
            return urllib.request.urlopen(request, timeout=timeout_s)  # noqa: S310
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(error.code, error.read(65_536)) from None
        except (OSError, HTTPException, ValueError) as error:
            raise self._unreachable(error) from None

    def _refused(self, status: int, body: bytes) -> Exception:
        try:
            said = json.loads(body)
            detail = str(said["detail"])[:500]
        except (ValueError, KeyError, TypeError):
            return self._unreachable(ValueError(f"status {status}"))
        if status in (401, 403):
            hint = "--token-file, or CLIENTSCOPE_PAGE_TOKEN_FILE, names the file that holds one"
            return EnvironmentProblem(f"the page at {self._url} lets nobody in without a token", hint)
        if "position" in said:
            where = int(said["position"])
            expected = ", ".join(map(str, (said.get("expected") or [])[:10]))
            return SettingsError(f"the search is wrong at character {where + 1}: {detail}", f"expected: {expected}" if expected else None)
        return SettingsError(detail, said.get("hint"))

    def _unreachable(self, error: Exception) -> EnvironmentProblem:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        hint = "--url is where the page is; is clientscope serve running?"
        return EnvironmentProblem(f"no clientscope serve answers at {self._url}: {reason}", hint)
