"""Settings of the page and its API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from clientscope.config.base import KafkaSettings, Owners
from clientscope.config.option import Option
from clientscope.config_types import Address, Folder, HeaderName, HttpUrl, Networks


class ServeSettings(KafkaSettings):
    """Serves the live page, the JSON API under /api/v1/, and /metrics."""

    section = "serve"
    listen: Address = Field("127.0.0.1:8324", description="address of the page; beyond loopback it requires tokens or a proxy")
    history_dir: Annotated[Folder | None, Option(metavar="PATH")] = Field(
        None, description="directory of the streaming job's Delta tables, for the page's History; by default History shows the topics only"
    )
    data_docs_dir: Path = Field(
        Path("data/history/data-docs"), description="directory of the job's Data Docs, within its history-dir; the page links them"
    )
    owners: Owners
    external_url: Annotated[HttpUrl, Option(metavar="URL")] = Field(
        "", description="public address of the page, as in https://kafka.example/clients/; for links and cookies"
    )
    admin_token_file: Path | None = Field(
        None, description="tokens of people who may also close findings; each line is a name, a space and a token, or a token alone"
    )
    reader_token_file: Path | None = Field(None, description="tokens of people who may only read, in the same form")
    proxy_user_header: Annotated[HeaderName, Option(metavar="HEADER")] = Field(
        "", description="header in which a reverse proxy names the user, as in X-Forwarded-User; accepted from trusted-proxies only"
    )
    trusted_proxies: Networks = Field(
        "",
        description="addresses of the proxies in front, separated by commas: 10.0.0.5,192.168.0.0/24; their X-Forwarded-For\n"
        "names the client, so that wrong tokens lock out one address instead of the whole proxy",
    )
    admins: Annotated[str, Option(metavar="NAMES")] = Field(
        "", description="users named by the proxy who may close findings, separated by commas"
    )
    loopback_role: Literal["admin", "reader"] = Field(
        "admin", description="role of every user of this machine if there are neither tokens nor a proxy"
    )
