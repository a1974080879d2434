"""The language server: documents in, answers out, over standard input and output.

What an editor has open may come from anybody's pull request: a document is bounded as a file is, and no error quotes it. The editor itself
is the one that started this process.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from clientscope import __version__
from clientscope.catalog.dialects import dialect as dialect_of
from clientscope.commands.lint import linting, versions
from clientscope.commands.lint.located import Region
from clientscope.commands.lint.shown import plain
from clientscope.commands.lsp import LspSettings, cursor
from clientscope.commands.lsp.actions import Action, actions
from clientscope.commands.lsp.completing import Offer, offers
from clientscope.commands.lsp.diagnostics import Remark, remarks
from clientscope.commands.lsp.documents import Document, at_line, today
from clientscope.commands.lsp.hovering import hover
from clientscope.errors import ClientscopeError
from clientscope.settings_files import MAX_BYTES

_LEVELS = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "information": lsp.DiagnosticSeverity.Information,
    "hint": lsp.DiagnosticSeverity.Hint,
}
_WIDTHS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""Encodings in which editors count columns, and the bytes of a unit; pygls counts by the character, which takes seconds on a long line."""
_TOO_LARGE = Remark(Region(1, 1, 1, 1), "information", f"not judged: it is larger than {MAX_BYTES} bytes")


class _Server(LanguageServer):
    """The server of pygls, but that what went wrong is said without a word of what was sent: it may be a password."""

    def report_server_error(self, error: Exception, source: object) -> None:
        """One line on standard error, which editors keep as the server's log."""
        print(f"error: a message could not be handled ({type(error).__name__})", file=sys.stderr, flush=True)


def run(settings: LspSettings) -> int:
    """Serves until the editor ends the connection.

    Raises:
        ClientscopeError: something is wrong with the settings or the rules file.
    """
    dialect_of(settings.dialect)
    linting.report_on([], settings, today())
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # it logs whole messages
    server(settings).start_io()
    return 0


def server(settings: LspSettings) -> LanguageServer:
    """With everything that it answers."""
    # Whole documents, since pygls applies parts of them by lines that end where no editor ends any.
    made = _Server("clientscope", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)

    def opened(uri: str) -> Document:
        return _document(settings, made.workspace.get_text_document(uri))

    def publish(uri: str, version: int | None) -> None:
        document = opened(uri)
        found = [_diagnostic(made, document, each) for each in _remarks(document)]
        made.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=version))

    @made.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
        versions.forget()
        publish(params.text_document.uri, params.text_document.version)

    @made.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
        publish(params.text_document.uri, params.text_document.version)

    @made.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: lsp.DidSaveTextDocumentParams) -> None:
        versions.forget()
        publish(params.text_document.uri, None)

    @made.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
        made.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=params.text_document.uri, diagnostics=[]))

    @made.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        document = opened(params.text_document.uri)
        read = document.read
        placed = at_line(read, params.position.line) if read else None
        text = hover(read, placed) if read and placed else None
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.PlainText, text)) if text else None

    @made.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", "=", " ", ","]))
    def completed(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        document = opened(params.text_document.uri)
        if document.too_large:
            return []
        line = params.position.line
        column = made.workspace.position_codec.position_from_client_units(document.lines, params.position).character
        found = cursor.at(document.lines, line, column, document.format)
        if found is None:
            return []
        start = lsp.Position(line, _units(made, document, line, column - len(found.written)))
        place = lsp.Range(start, lsp.Position(line, _units(made, document, line, column)))
        kind = lsp.CompletionItemKind.Property if found.value is None else lsp.CompletionItemKind.Value
        made_of = offers(found, document.without(line), dialect_of(settings.dialect), document.version)
        return [_item(each, kind, place) for each in made_of]

    @made.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]))
    def acted(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        document = opened(params.text_document.uri)
        if document.read is None:
            return []
        lines = params.range.start.line, params.range.end.line
        found = actions(document.read, document.content, document.format == "properties", *lines)
        return [_action(made, document, params.text_document.uri, each) for each in found]

    return made


def _document(settings: LspSettings, opened: TextDocument) -> Document:
    path = to_fs_path(opened.uri)
    return Document(settings, opened.uri, Path(path) if path else None, opened.language_id or "", opened.source)


def _remarks(document: Document) -> list[Remark]:
    if document.format and document.too_large:
        return [_TOO_LARGE]
    try:
        report = document.report()
    except ClientscopeError as error:
        return [Remark(Region(1, 1, 1, 1), "error", plain(f"{error}; {error.hint}" if error.hint else str(error), 400))]
    return list(remarks(report)) if report else []


def _diagnostic(made: LanguageServer, document: Document, remark: Remark) -> lsp.Diagnostic:
    region = remark.region
    start = lsp.Position(region.line - 1, _units(made, document, region.line - 1, region.column - 1))
    end = lsp.Position(region.end_line - 1, _units(made, document, region.end_line - 1, region.end_column - 1))
    return lsp.Diagnostic(
        range=lsp.Range(start, end),
        message=remark.text,
        severity=_LEVELS[remark.level],
        code=remark.code or None,
        code_description=lsp.CodeDescription(remark.link) if remark.link else None,
        source="clientscope",
    )


def _item(offer: Offer, kind: lsp.CompletionItemKind, place: lsp.Range) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        label=offer.text,
        kind=kind,
        detail=offer.about or None,
        documentation=offer.documentation or None,
        tags=[lsp.CompletionItemTag.Deprecated] if offer.deprecated else None,
        text_edit=lsp.TextEdit(place, offer.text),
    )


def _action(made: LanguageServer, document: Document, uri: str, action: Action) -> lsp.CodeAction:
    line = action.line
    end = lsp.Position(line + 1, 0) if action.text is None else lsp.Position(line, _units(made, document, line, len(document.lines[line])))
    edit = lsp.TextEdit(lsp.Range(lsp.Position(line, 0), end), action.text or "")
    return lsp.CodeAction(title=action.title, kind=lsp.CodeActionKind.QuickFix, edit=lsp.WorkspaceEdit(changes={uri: [edit]}))


def _units(made: LanguageServer, document: Document, line: int, column: int) -> int:
    """A column (from 0) as the editor counts it."""
    before = document.lines[line][:column] if line < len(document.lines) else ""
    if before.isascii():
        return len(before)
    codec, width = _WIDTHS[made.workspace.position_codec.encoding or "utf-16"]
    return len(before.encode(codec)) // width
