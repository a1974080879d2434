"""Types of the fields of the topics' records: what a reader takes, and what their JSON Schemas state."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, WithJsonSchema

Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
Id32 = Annotated[int, Field(ge=0, le=2**31 - 1)]
Id64 = Annotated[int, Field(ge=0, le=2**63 - 1)]
Count = Id64
Ms = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
"""Since the epoch, by a clock that may be wrong by any time."""
Interval = Id32
"""In ms."""
Name = Annotated[str, Field(max_length=1_024)]
"""What somebody chose. Gateways record 256 characters of it."""
GivenName = Annotated[str, Field(min_length=1, max_length=1_024)]
ClientKey = Annotated[str, Field(max_length=2_048)]
"""As `clientscope.model.client_key` has it."""
Uuid = Annotated[str, Field(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Version = Annotated[int, Field(strict=True, ge=1, le=1), WithJsonSchema({"const": 1, "type": "integer"})]
"""Of a record's format. Fields may come, which readers that don't know them ignore; another version is for what they would get wrong."""

READ = ConfigDict(strict=True, extra="ignore")
"""No value is converted to another type."""
