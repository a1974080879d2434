"""Values that may not be written down, whatever their key: shapes of credentials, as data, and a judgement over them.

Sources: the published formats of each service's keys (as gitleaks and trufflehog list them), RFC 7468 (PEM), RFC 7519 (JWT), RFC 3986
(user and password in a URL), and credentials found under innocent keys in public issue trackers.

The expressions keep to the syntax that Python's ``re`` and RE2 (Arrow's) share: no look-around, no back-references.  Each begins with a
literal, and no repeat can be entered at many places of the same text, so that Python takes time in proportion to the value's length.
"""

from __future__ import annotations

import re
from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

from clientscope.records.codec import ValueState


class Shape(NamedTuple):
    """A shape of credentials.

    Attributes:
        hint: what a value of that shape contains, as a cheap expression.
        pattern: the shape; its first group, where it has one, is the secret itself.
    """

    hint: str
    pattern: str


SHORTEST = 8
"""Characters: a shorter value isn't looked at; most settings are numbers and words."""

SHAPES = {
    # password=…, also in JAAS, in a query, in Azure's connection strings; "password": "…".
    "assignment": Shape(
        "[=\"']",
        r"(?i:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|(?:api|access|account|private|secret)[._-]?key|[^a-z]user_[a-z0-9]{1,64})"
        r"(?:\\?[\"']?\s{0,8}=|\\?[\"']\s{0,8}:)\s{0,8}\\?[\"']?([^\s\"';,&\\]+)",
    ),
    "url_userinfo": Shape("://", r"://(?:\$\{[^{}\s]*\}|\{\{[^{}]*\}\}|[^\s/:@?#{])*(:[^\s/@?#]+)@"),
    "oracle_url": Shape("jdbc:oracle:", r"jdbc:oracle:[a-z0-9]{1,8}:[^\s/:@]{1,128}/([^\s/@]{1,128})@"),
    "mysql_dsn": Shape(r"@(?:tcp|unix)\(", r":([^\s/@:]{1,128})@(?:tcp|unix)\("),
    "authorization": Shape("[Bb](?:earer|asic)", r"\b[Bb](?:earer|asic)\s{1,4}([A-Za-z0-9+/._~=-]{16,})"),
    "pem": Shape("-----BEGIN", r"-----BEGIN [A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?-----"),
    "pem_base64": Shape("LS0tLS1CRUdJTi", r"LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJ|BFQyBQUklW|BFTkNSWVBU|BPUEVOU1NI|BEU0EgUFJJ)"),
    "der_base64": Shape("MII", r"MII[A-Za-z0-9+/]{2,4}IBADANBgkqhkiG9w0BAQEFAASC"),
    "jwt": Shape(r"\.eyJ", r"[A-Za-z0-9_-]{8}\.eyJ[A-Za-z0-9_-]{8,}\."),
    "aws": Shape("A[KS]IA", r"(?:\b|_)(?:AKIA|ASIA)[A-Z0-9]{16}(?:\b|_)"),
    "alibaba": Shape("LTAI", r"(?:\b|_)LTAI[A-Za-z0-9]{12,24}(?:\b|_)"),
    "google": Shape("AIza|GOCSPX-|ya29", r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|(?:\b|_)ya29\.[A-Za-z0-9_-]{20}"),
    "azure": Shape("sig=|Q~", r"[?&]sig=[A-Za-z0-9%+/]{30}|[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31}"),
    "github": Shape("gh[opsru]_|github_pat_", r"(?:\b|_)gh[opsru]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    "gitlab": Shape("glpat-", r"(?:\b|_)glpat-[A-Za-z0-9_-]{20}"),
    "slack": Shape(
        "xox|hooks", r"(?:\b|_)xox[abeoprs]-[A-Za-z0-9-]{10}|hooks\.slack\.com/services/T[A-Z0-9]{6,16}/B[A-Z0-9]{6,16}/[A-Za-z0-9]{16}"
    ),
    "stripe": Shape("[rs]k_", r"(?:\b|_)[rs]k_(?:live|test|prod)_[A-Za-z0-9]{16}"),
    "sendgrid": Shape(r"SG\.", r"(?:\b|_)SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    "vault": Shape(r"hv[bsr]\.", r"(?:\b|_)hv[bsr]\.[A-Za-z0-9_-]{24}"),
    "databricks": Shape("dapi", r"(?:\b|_)dapi[0-9a-f]{32}(?:\b|_)"),
    "digitalocean": Shape("do[opr]_v1_", r"(?:\b|_)do[opr]_v1_[0-9a-f]{64}"),
    "package_index": Shape("npm_|pypi-", r"(?:\b|_)npm_[A-Za-z0-9]{36}|(?:\b|_)pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{16}"),
    "docker": Shape("dckr_pat_", r"(?:\b|_)dckr_pat_[A-Za-z0-9_-]{27}"),
    "grafana": Shape("glsa_", r"(?:\b|_)glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    "new_relic": Shape("NRAK-", r"(?:\b|_)NRAK-[A-Z0-9]{27}"),
    "telegram": Shape(":AA", r"(?:\b|_)[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    "confluent": Shape("cflt", r"(?:\b|_)cflt[A-Za-z0-9+/]{50}"),
    "shopify": Shape("shpat_", r"(?:\b|_)shpat_[A-Fa-f0-9]{32}"),
    "doppler": Shape(r"dp\.pt\.", r"(?:\b|_)dp\.pt\.[A-Za-z0-9]{43}"),
    "dynatrace": Shape(r"dt0c01\.", r"(?:\b|_)dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    "age": Shape("AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
}
"""Shapes of a credential within a value, by name."""

CERTIFICATE = r"-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----|LS0tLS1CRUdJTiBDRVJU"
JAAS = r"LoginModule\s{1,8}(?i:required|requisite|sufficient|optional)"

HINT = "|".join(f"(?:{shape.hint})" for shape in SHAPES.values()) + "|LoginModule|-----BEGIN|LS0tLS1CRUdJTi"
"""What any value contains that has one of these shapes."""

CHANGES, WORDS = 0.38, 0.35
"""Of random text: in how many places the kind of character changes at least, and what share of it stands in words at most."""

LONGEST_RANDOM = 128
"""Characters: a longer run is data (a schema, a certificate) rather than a credential."""

RANDOM_RUN = r"[A-Za-z0-9+/]{23,}"
"""As long as what may look random is at least: one more than the ids that Kafka writes (a UUID in base64url)."""

DIGEST_LENGTHS = (86, 43, 27)
"""Of SHA-512, SHA-256 and SHA-1 in base64 without its padding, longest first; KSUIDs have 27 too."""

TEMPLATE = (
    r"\$\{[^{}:]*\}|\$\{(?:env|strimzienv|sys|system|vault|secretsmanager):[^{}]*\}|\$\{[a-z][a-z0-9]*:[^{}:/]*[:/][^{}]*\}"
    r"|\$\{\{[^{}]*\}\}|\$\([A-Za-z_.]+\)|\$[A-Z_][A-Z0-9_]+|\$[0-9]|\{\{[^{}]*\}\}|%\{[A-Za-z_]+\}|%[A-Z_]+%|<[^<>]*>|\*{3,}|[xX]{3,}|\.{3,}"
    r"|\[(?i:hidden|redacted)(?: [0-9a-f]{1,16})?\]|\{[A-Z][A-Z_.-]+\}"
)
"""What stands for a value that comes from elsewhere, or was taken out."""

_NOTHING = (
    r"(?i:redacted|null|none|true|false|your[-_. ][-_. a-z]+)"
    # Kafka calls its requests' numbers api keys.
    r"|Produce|Fetch|Metadata|ListOffsets|FindCoordinator|JoinGroup|ApiVersions|CreateTopics|DescribeConfigs|SaslHandshake"
)
_FILE = (
    r"(?:file:(?://)?)?(?:(?:~|\.{1,2})?/(?:[\w.-]+/)*)?[\w.-]+\.(?:json|pem|jks|p12|pfx|key|crt|cer|keytab|txt|properties|conf|ya?ml|pass(?:word)?)"
    r"|/(?:etc|var|run|mnt|opt|home|usr|tmp|secrets|vault)/[\w./-]+"
)
# White space or a quote within a template cuts it off where it stands in a longer text.
_CUT_TEMPLATE = r"\$\{[^{}:]*|\$\(.*|\{\{.*|<[\w-]*|%\{.*"
_LONGEST_WITHOUT_SECRET = 512

_TEMPLATE = re.compile(TEMPLATE)
_WITHOUT_SECRET = re.compile(rf"(?:{TEMPLATE}|{_NOTHING})(?::(?:{TEMPLATE}))?|{_FILE}")
_STANDS_FOR_SECRET = re.compile(rf"{_NOTHING}|{_CUT_TEMPLATE}|[0-9]{{1,5}},.*")
_HINT = re.compile(HINT)
_SHAPES = tuple((name, re.compile(shape.hint), re.compile(shape.pattern)) for name, shape in SHAPES.items())
_CERTIFICATE, _JAAS, _RANDOM_RUN = re.compile(CERTIFICATE), re.compile(JAAS), re.compile(RANDOM_RUN)
_PREFIXED_DIGEST = re.compile(r"sha[0-9]{1,3}[-:=][A-Za-z0-9+/=]{20,}")
_WIDE_RUN, _WORD = re.compile(r"[A-Za-z0-9+/_=-]{23,}"), re.compile("a{4,}")
_KINDS = str.maketrans(
    {character: kind for kind, characters in (("a", ascii_lowercase), ("A", ascii_uppercase), ("0", digits)) for character in characters}
)


def judge_value(value: str) -> ValueState:
    """What a value under a key that says nothing is: one of PRESENT, VALUE_SHAPE, CERTIFICATE, WITHOUT_SECRET, LOOKS_RANDOM."""
    if len(value) < SHORTEST:
        return ValueState.PRESENT
    if _HINT.search(value):
        if shape_of(value):
            return ValueState.VALUE_SHAPE
        if _CERTIFICATE.search(value):
            return ValueState.CERTIFICATE
        if is_login_module(value):
            return ValueState.WITHOUT_SECRET
    return ValueState.LOOKS_RANDOM if looks_random(value) else ValueState.PRESENT


def shape_of(value: str) -> str | None:
    """The first of `SHAPES` that the value has, by name."""
    return next((name for name, hint, pattern in _SHAPES if hint.search(value) and holds_secret(pattern, value)), None)


def is_login_module(value: str) -> bool:
    """Whether it is a line of JAAS, with a secret or without."""
    return _JAAS.search(value) is not None


def is_without_secret(value: str) -> bool:
    """Whether a credential's value holds none: a template, a file's name, a login module without a password."""
    if len(value) <= _LONGEST_WITHOUT_SECRET and _WITHOUT_SECRET.fullmatch(value.strip()):
        return True
    return judge_value(value) in (ValueState.WITHOUT_SECRET, ValueState.CERTIFICATE)


def holds_secret(pattern: re.Pattern[str], value: str) -> bool:
    """Whether the value has this shape, and what its first group takes, where it has one, is more than a template."""
    if not pattern.groups:
        return pattern.search(value) is not None
    return any(_is_secret(match[1]) for match in pattern.finditer(value))


def _is_secret(text: str) -> bool:
    """Whether this part of a value, as it stands after ``password=`` say, is more than a template."""
    rest = _TEMPLATE.sub("", text).strip(":")
    return bool(rest) and not _STANDS_FOR_SECRET.fullmatch(rest)


def looks_random(value: str) -> bool:
    """Whether the value has a run of letters and digits as a generator of secrets makes them.

    Entropy proper can't tell 23 random characters from a class name.  What does is how often the kind of character changes
    (small letters, capitals, digits): in random text at six of ten places, in words written together at two or three.
    """
    if not _RANDOM_RUN.search(value):
        return False
    value = _PREFIXED_DIGEST.sub("", value)
    return any(_is_random(run[0]) for wide in _WIDE_RUN.finditer(value) for run in _RANDOM_RUN.finditer(_without_digest(wide[0])))


def _without_digest(run: str) -> str:
    """Without the digest or id that it is or ends with; those in base64url may have hyphens and underscores within."""
    text = run.rstrip("=")
    if len(text) in DIGEST_LENGTHS:
        return ""
    ends = next((length for length in DIGEST_LENGTHS if len(text) > length and text[-length - 1] in "-_/"), 0)
    return text[: len(text) - ends]


def _is_random(run: str) -> bool:
    if len(run) in DIGEST_LENGTHS or len(run) > LONGEST_RANDOM:
        return False
    kinds = run.translate(_KINDS)
    if not {"a", "A", "0"} <= set(kinds):
        return False
    changes = sum(before != after for before, after in pairwise(kinds))
    in_words = sum(len(word[0]) for word in _WORD.finditer(kinds))
    return changes >= CHANGES * (len(run) - 1) and in_words < WORDS * len(run)
