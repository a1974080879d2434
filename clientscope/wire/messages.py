"""Messages that kafka-python lacks, as kafka-python message classes over the JSON files in ``schemas/``.

The class's name is the file's name.  Fields are those of the files, in snake case.  kafka-python finds a response by its api key through a
registry of weak references, so response classes must stay alive: importing this module registers them, and its names keep them.
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage

_SCHEMAS = "clientscope.wire.schemas"


class ApiVersionsRequest(ApiMessage, load_json=_SCHEMAS):  # type: ignore[call-arg]
    """ApiVersions v0 to v4 with ``client_instance_id`` (a ``uuid.UUID``, or None) as a tagged field of v3 and v4.

    Its response is kafka-python's own class: kafka-python keeps one response class per api key, and a second one of key 18
    would replace it for every client of the process.
    """


class PushConfigRequest(ApiMessage, load_json=_SCHEMAS):  # type: ignore[call-arg]
    """PushConfig v0 (KIP-1324); ``PushConfigRequest.Config`` is one entry of ``configs``."""


class PushConfigResponse(ApiMessage, load_json=_SCHEMAS):  # type: ignore[call-arg]
    """PushConfig v0 (KIP-1324)."""
