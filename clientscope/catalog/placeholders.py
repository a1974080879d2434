"""Values in the place of a secret that are none: templates to be filled in later, names of files, words such as "none".

Sources: KIP-297 (config providers), Spring, Maven, Helm and shells for the templates; the corpora in ``tests/corpora/`` for the rest.

The expressions keep to the syntax that Python's ``re`` and RE2 (Arrow's) share.
"""

from __future__ import annotations

import re

TEMPLATE = (
    r"\$\{[^{}:]*(?::-?|:\?[^{}]*)?\}|\$\{(?:env|strimzienv|sys|system|vault|secretsmanager):[^{}]*\}|\$\{[a-z][a-z0-9]*:[^{}:/]*[:/][^{}]*\}"
    r"|\$\{\{[^{}]*\}\}|\$\([A-Za-z_.]+\)|\$[A-Z_][A-Z0-9_]+|\$[0-9]\b|\{\{[^{}]*\}\}|%\{[A-Za-z_]+\}|%[A-Z_]+%|<[^<>]*>|\*{3,}|[xX]{3,}|\.{3,}"
    r"|\[(?i:hidden|redacted)(?: [0-9a-f]{1,16})?\]|\{[A-Z][A-Z_.-]+\}"
)
"""Placeholders of values that come from elsewhere, or were removed."""

_NOTHING = (
    r"(?i:redacted|null|none|true|false|your[-_. ][-_. a-z]+)|%[sqv]"
    # Kafka calls its requests' numbers api keys.
    r"|(?:SASL_)?(?:PLAINTEXT|SSL)|Produce|Fetch|Metadata|ListOffsets|FindCoordinator|JoinGroup|ApiVersions|CreateTopics|DescribeConfigs|SaslHandshake"
)
_FILE = (
    r"(?:file:(?://)?)?(?:(?:~|\.{1,2})?/(?:[\w.-]+/)*)?[\w.-]+\.(?:json|pem|jks|p12|pfx|key|crt|cer|keytab|txt|properties|conf|ya?ml|pass(?:word)?)"
    r"|/(?:etc|var|run|mnt|opt|home|usr|tmp|secrets|vault)/[\w./-]+"
)
_KEPT_ELSEWHERE = (
    r"@[A-Za-z][\w.-]*@|ENC[\[(][^\])]*[\])]|\$ANSIBLE_VAULT;[\s\S]*|arn:aws[a-z-]*:\S+|@Microsoft\.KeyVault\([^)]*\)"
    r"|(?:ref\+)?(?:ssm|vault|op|awssm|awssecrets|secretsmanager|gcpsm|gcpsecrets|azurekeyvault|sops)s?:/?/?[A-Za-z][\w./:#-]*/[\w./:#-]+"
)
"""What Maven fills in, what SOPS, Jasypt and Ansible have encrypted, and where a service keeps a secret."""
# Within a longer text, white space or a quote inside a template cuts the template off.
_CUT_TEMPLATE = r"\$\{[^{}:]*|\$\(.*|\{\{.*|<[\w-]*|%\{.*"

_TEMPLATE = re.compile(TEMPLATE)
_LONGEST_FILLED_IN = 512
_WITHOUT_SECRET = re.compile(rf"(?:{TEMPLATE}|{_NOTHING})(?::(?:{TEMPLATE}))?|{_FILE}|{_KEPT_ELSEWHERE}")
# A digest of an image, or a time or a number before a host, in the place of a password.
_BEFORE_AT = r".*@\s*sha[0-9]{1,3}(?::.*)?|[0-9]{1,3}(?::[0-9]{2})?\s*@.*"
_STANDS_FOR_SECRET = re.compile(rf"{_NOTHING}|{_CUT_TEMPLATE}|[0-9]{{1,5}},.*|{_BEFORE_AT}")


def is_placeholder(value: str) -> bool:
    """Whether the whole value is one: a template, a name of a file, a word."""
    return _WITHOUT_SECRET.fullmatch(value) is not None


def is_filled_in(value: str) -> bool:
    """Whether something is to be filled in anywhere in the value."""
    return len(value) <= _LONGEST_FILLED_IN and _TEMPLATE.search(value) is not None


def without_templates(text: str, left: re.Pattern[str] | None = None) -> str:
    """The text without its templates.

    Args:
        left: what only stands between angle brackets stays where it contains this.
    """
    if left is None:
        return _TEMPLATE.sub("", text)
    return _TEMPLATE.sub(lambda found: found[0] if found[0].startswith("<") and left.search(found[0][1:-1]) else "", text)


def is_secret(text: str) -> bool:
    """Whether this part of a value, as it stands after ``password=`` say, is more than a template."""
    rest = _TEMPLATE.sub("", text).strip(":")
    return bool(rest) and not _STANDS_FOR_SECRET.fullmatch(rest)
