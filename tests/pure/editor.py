"""An editor: a real client of the Language Server Protocol, beside ``clientscope lsp`` as a process of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

WAIT_S = 60.0


class Editor:
    """Opens and changes documents, and asks about places in them (lines and columns from 0)."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self._published: dict[str, asyncio.Queue[list[lsp.Diagnostic]]] = {}

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: lsp.PublishDiagnosticsParams) -> None:
            self._published.setdefault(params.uri, asyncio.Queue()).put_nowait([*params.diagnostics])

    async def open(self, path: Path | str, text: str, language: str = "") -> list[lsp.Diagnostic]:
        """What is shown of a document once it is open; a text that isn't a path is its address."""
        item = lsp.TextDocumentItem(uri=uri(path), language_id=language, version=1, text=text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return await self.shown(path)

    async def change(self, path: Path, text: str, version: int = 2) -> list[lsp.Diagnostic]:
        """The same after a change."""
        document = lsp.VersionedTextDocumentIdentifier(version=version, uri=uri(path))
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))
        return await self.shown(path)

    async def shown(self, path: Path | str) -> list[lsp.Diagnostic]:
        """The next diagnostics of a document."""
        queue = self._published.setdefault(uri(path), asyncio.Queue())
        return await asyncio.wait_for(queue.get(), WAIT_S)

    async def hover(self, path: Path, line: int, column: int = 0) -> str | None:
        """What is shown beside a place."""
        asked = self.client.text_document_hover_async(lsp.HoverParams(document(path), lsp.Position(line, column)))
        found = await asyncio.wait_for(asked, WAIT_S)
        if found is None:
            return None
        assert isinstance(found.contents, lsp.MarkupContent)
        return found.contents.value

    async def complete(self, path: Path, line: int, column: int) -> dict[str, lsp.CompletionItem]:
        """What may be written at a place, by its label."""
        asked = self.client.text_document_completion_async(lsp.CompletionParams(document(path), lsp.Position(line, column)))
        found = await asyncio.wait_for(asked, WAIT_S)
        assert isinstance(found, list)
        return {item.label: item for item in found}

    async def actions(self, path: Path, first: int, last: int) -> list[lsp.CodeAction]:
        """What may be corrected in these lines."""
        place = lsp.Range(lsp.Position(first, 0), lsp.Position(last, 0))
        asked = self.client.text_document_code_action_async(lsp.CodeActionParams(document(path), place, lsp.CodeActionContext([])))
        found = await asyncio.wait_for(asked, WAIT_S)
        return [each for each in found or () if isinstance(each, lsp.CodeAction)]


@asynccontextmanager
async def editing(folder: Path, *flags: str, encoding: str = "utf-16") -> AsyncIterator[Editor]:
    """An editor whose server runs in a folder; it has ended, without an error, when the block is left.

    Args:
        encoding: in which the editor counts columns.
    """
    client = LanguageClient("editor", "1")
    editor = Editor(client)
    await client.start_io(sys.executable, "-m", "clientscope", "lsp", *flags, cwd=folder)
    server = client._server
    assert server is not None and server.stderr is not None
    try:
        can = lsp.ClientCapabilities(general=lsp.GeneralClientCapabilities(position_encodings=[encoding]))
        await asyncio.wait_for(client.initialize_async(lsp.InitializeParams(can, root_uri=folder.as_uri())), WAIT_S)
        client.initialized(lsp.InitializedParams())
        yield editor
        await asyncio.wait_for(client.shutdown_async(None), WAIT_S)
        client.exit(None)
        assert await asyncio.wait_for(server.wait(), WAIT_S) == 0
        assert await server.stderr.read() == b""
    finally:
        if server.returncode is None:
            server.kill()
        await client.stop()


def uri(path: Path | str) -> str:
    """A document's address."""
    return path if isinstance(path, str) else path.as_uri()


def document(path: Path) -> lsp.TextDocumentIdentifier:
    """A document, as requests name it."""
    return lsp.TextDocumentIdentifier(uri(path))


def edited(text: str, edit: lsp.TextEdit) -> str:
    """A text after an edit."""
    lines = [*text.splitlines(keepends=True), ""]
    start, end = edit.range.start, edit.range.end
    before = "".join(lines[: start.line]) + lines[start.line][: start.character]
    return before + edit.new_text + lines[end.line][end.character :] + "".join(lines[end.line + 1 :])
