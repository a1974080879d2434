"""API models of signing in, and of the current user."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr

from clientscope.api.common import Model
from clientscope.api.findings import Input

Role = Literal["reader", "admin"]
Authentication = Literal["none", "token", "proxy"]


class Me(Model):
    """The current user, and what that user may do."""

    name: str | None = Field(description="Null before signing in.")
    role: Role | None
    authentication: Authentication = Field(description="`token`: sign in with `login`; `proxy`: a reverse proxy says who it is.")
    external_url: str | None = Field(description="Where this page is reached from elsewhere; null if not set.")


class Login(Input):
    """A token, to be exchanged for a cookie."""

    token: Annotated[SecretStr, Field(max_length=1_024)]
