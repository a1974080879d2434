"""Sensitive values, whatever their key: shapes of credentials, as data, and a judgement by them.

Sources: the published formats of each service's keys (as gitleaks and trufflehog list them), RFC 7468 (PEM), RFC 7519 (JWT), RFC 3986
(user and password in a URL), and credentials found under innocent keys in public issue trackers.

The expressions keep to the syntax that Python's ``re`` and RE2 (Arrow's) share: no look-around, no back-references.  Each begins with a
literal, and no repeat can be entered at many places of the same text, so that Python takes time in proportion to the value's length.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from clientscope.catalog.disguises import readings
from clientscope.catalog.placeholders import is_placeholder, is_secret, without_templates
from clientscope.catalog.random_text import changes_as_random, looks_random
from clientscope.catalog.value_states import ValueState


class Shape(NamedTuple):
    """A shape of credentials.

    Attributes:
        hint: what a value of that shape contains, as a cheap expression.
        pattern: the shape; its first group, where it has one, is the secret itself.
        bare: whether templates are taken out before it is looked for.
        innocent: what looks like it, and is taken out too.
        random: whether the secret looks random.
    """

    hint: str
    pattern: str
    bare: bool = False
    innocent: str = "(?!)"
    random: bool = False


SHORTEST = 6
"""Characters: a shorter value isn't looked at; most settings are numbers and words."""

_ADDRESS = r"[^\s:@{}]{1,128}@[A-Za-z0-9.-]{1,255}"
WITHOUT_PASSWORD = rf"\b(?:User:|(?i:mailto|sips?|xmpp|acct):){_ADDRESS}(?:$|[\s,;\"'])|\$\{{\w{{1,128}}:-{_ADDRESS}\}}"
"""``User:alice@EXAMPLE.COM`` as KafkaPrincipal writes it, an address of mail, and one that is a shell's default; none has a port."""

SHAPES = {
    # password=…, also in JAAS, in a query, in Azure's connection strings; "password": "…".
    "assignment": Shape(
        "[=\"']",
        r"(?i:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|(?:api|access|account|private|secret)[._-]?key|[^a-z]user_[a-z0-9]{1,64})"
        r"(?:\\?[\"']?\s{0,8}=|\\?[\"']\s{0,8}:)\s{0,8}\\?[\"']?([^\s\"';,&\\]+)",
    ),
    # pass: …, pwd=…, --password …; with a colon, too, and by the shorter words that count only alone.
    "named": Shape(
        r"(?i:pass|pw|ps{1,2}w|secret|token|cred|key)[A-Za-z]{0,8}[0-9]{0,4}[\"']?\s{0,4}[:=-]",
        r"(?:(?i:passw(?:or)?t?d?|passphrase|passcode|pa?sswd|pswd|pwd|secret|token|credentials?"
        r"|(?:api|access|account|private|secret|shared|master|signing|encryption)[._ -]?key)"
        r"|(?:^|[^A-Za-z])(?i:pass|pw|psw|creds?)|[a-z](?:Pass|Pw|Cred))[0-9]{0,4}[\"']?"
        r"\s{0,4}(?::=|=>|->|[=:])\s{0,4}[\"']?([^\s\"',;&\\/][^\s\"',;&\\]{2,})",
        bare=True,
    ),
    "option": Shape(
        "(?i:-pass|-pw|-secret|-token)",
        r"(?:^|\s)--?[a-z-]{0,24}(?i:passw(?:or)?d|passphrase|pass|pwd?|secret|token)\s{1,4}[\"']?([^\s\"',;&\\/-][^\s\"',;&\\]{2,})",
    ),
    "url_userinfo": Shape("://", r"://(?:\$\{[^{}\s]*\}|\{\{[^{}]*\}\}|[^\s/:@?#{])*(:[^\s/@?#]+)@"),
    # user:password@host without a scheme, with spaces or without.
    "userinfo": Shape(
        ":[^@]{1,80}@",
        r"[^\s:/@,;]\s{0,4}:\s{0,4}([^\s@/,;]{1,64}\s{0,4}@\s{0,4}[A-Za-z0-9\[][^\s,;]{0,7})",
        bare=True,
        innocent=WITHOUT_PASSWORD,
    ),
    "oracle_url": Shape("jdbc:oracle:", r"jdbc:oracle:[a-z0-9]{1,8}:[^\s/:@]{1,128}/([^\s/@]{1,128})@"),
    "mysql_dsn": Shape(r"@(?:tcp|unix)\(", r":([^\s/@:]{1,128})@(?:tcp|unix)\("),
    "authorization": Shape("[Bb](?:earer|asic)", r"\b[Bb](?:earer|asic)\s{1,4}([A-Za-z0-9+/._~=-]{16,})"),
    "pem": Shape("-----BEGIN", r"-----BEGIN [A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?-----"),
    "pem_base64": Shape("LS0tLS1CRUdJTi", r"LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJ|BFQyBQUklW|BFTkNSWVBU|BPUEVOU1NI|BEU0EgUFJJ)"),
    "der_base64": Shape("MII", r"MII[A-Za-z0-9+/]{2,4}IBA(?:DANBgkqhkiG9w0BAQEFAASC|AKC)"),
    "jwt": Shape(r"\.eyJ", r"[A-Za-z0-9_-]{8}\.eyJ[A-Za-z0-9_-]{8,}\."),
    "aws": Shape("A[KS]IA", r"(?:\b|_)(?:AKIA|ASIA)[A-Z0-9]{16}(?:\b|_|[A-Za-z0-9/+]{40})"),
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
    # What docker login has made of a user and a password, in base64: there is a colon.
    "docker": Shape(
        "dckr_pat_|auth",
        r"(?:\b|_)dckr_pat_[A-Za-z0-9_-]{27}|\"auth\\?\"\s{0,8}:\s{0,8}\\?\"(?:[I-Za-f][A-Za-z0-9+/]{3}){0,64}"
        r"(?:O[g-v]|[I-Za-f][DTjz][o-r]|[I-Za-f][A-Za-z0-9+/][AEIMQUYcgkosw048]6)[A-Za-z0-9+/]{3}",
    ),
    "grafana": Shape("glsa_", r"(?:\b|_)glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    "new_relic": Shape("NRAK-", r"(?:\b|_)NRAK-[A-Z0-9]{27}"),
    "telegram": Shape(":AA", r"(?:\b|_)[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    "confluent": Shape("cflt", r"(?:\b|_)cflt[A-Za-z0-9+/]{50}"),
    # A key and its secret, as Confluent Cloud makes them; names in capitals with words, a path or a digest behind them aren't random.
    "key_and_secret": Shape("[A-Z0-9]{16}[/:]", r"(?:\b|_)[A-Z0-9]{16}[/:]([A-Za-z0-9+/]{64})", bare=True, random=True),
    "shopify": Shape("shpat_", r"(?:\b|_)shpat_[A-Fa-f0-9]{32}"),
    "doppler": Shape(r"dp\.pt\.", r"(?:\b|_)dp\.pt\.[A-Za-z0-9]{43}"),
    "dynatrace": Shape(r"dt0c01\.", r"(?:\b|_)dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    "age": Shape("AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
}
"""Shapes of a credential within a value, by name."""

QUALIFIED_CLASS = r"(?:class )?(?:[A-Za-z_][A-Za-z0-9_]*\.)+[A-Z][A-Za-z0-9_]*(?:\$[A-Za-z0-9_]+)*"

CERTIFICATE = r"-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----|LS0tLS1CRUdJTiBDRVJU"
JAAS = r"LoginModule\s{1,8}(?i:required|requisite|sufficient|optional)"

HINT = "|".join(f"(?:{shape.hint})" for shape in SHAPES.values()) + "|LoginModule|-----BEGIN|LS0tLS1CRUdJTi"
"""What any value contains that has one of these shapes."""

_LONGEST_WITHOUT_SECRET = 512

_QUALIFIED_CLASS, _CAPITAL = re.compile(QUALIFIED_CLASS), re.compile("[A-Z]")
_HINT = re.compile(HINT)
_NUMBERS = re.compile("[0-9.]{1,15}")
"""An IPv4 address, a version, a number: every shape has other characters too, and an encoded text is longer."""
_SHAPES = tuple(
    (name, re.compile(shape.hint), re.compile(shape.pattern), shape.bare, re.compile(shape.innocent), shape.random)
    for name, shape in SHAPES.items()
)
_CERTIFICATE, _JAAS = re.compile(CERTIFICATE), re.compile(JAAS)


def judge_value(value: str) -> ValueState:
    """What a value under a key that says nothing is: one of PRESENT, VALUE_SHAPE, CERTIFICATE, WITHOUT_SECRET, LOOKS_RANDOM.

    A credential's shape in any of its other readings (``disguises``) counts too.
    """
    if len(value) < SHORTEST or _NUMBERS.fullmatch(value):
        return ValueState.PRESENT
    state = _judge_reading(value)
    if state is not ValueState.VALUE_SHAPE and any(_HINT.search(reading) and shape_of(reading) for reading in readings(value)):
        return ValueState.VALUE_SHAPE
    return state


def _judge_reading(value: str) -> ValueState:
    if _HINT.search(value):
        if shape_of(value):
            return ValueState.VALUE_SHAPE
        if _CERTIFICATE.search(value):
            return ValueState.CERTIFICATE
        if is_login_module(value):
            return ValueState.WITHOUT_SECRET
    return ValueState.LOOKS_RANDOM if looks_random(value) else ValueState.PRESENT


def shape_of(value: str, without: Collection[str] = ()) -> str | None:
    """The first of `SHAPES` that the value has, by name, without some."""
    for name, hint, pattern, bare, innocent, random in _SHAPES:
        if (
            name not in without
            and hint.search(value)
            and holds_secret(pattern, innocent.sub(" ", without_templates(value)) if bare else value, random)
        ):
            return name
    return None


def names_classes(value: str, which: str) -> bool:
    """Whether the value, or a part of it between commas, is the name of a class.

    Args:
        which: ``sensitive_keys.Classes``; with or without a package, whatever has a capital is one.
    """
    if which == "any":
        return _CAPITAL.search(value) is not None
    return any(_QUALIFIED_CLASS.fullmatch(part.strip()) for part in value.split(","))


def is_login_module(value: str) -> bool:
    """Whether it is a line of JAAS, with a secret or without."""
    return _JAAS.search(value) is not None


def is_without_secret(value: str) -> bool:
    """Whether a credential's value holds none: a template, a file's name, a login module without a password."""
    if len(value) <= _LONGEST_WITHOUT_SECRET and is_placeholder(value.strip()):
        return True
    return judge_value(value) in (ValueState.WITHOUT_SECRET, ValueState.CERTIFICATE)


def holds_secret(pattern: re.Pattern[str], value: str, random: bool = False) -> bool:
    """Whether the value has this shape, and its first group, if any, takes more than a template, and random text if so asked."""
    if not pattern.groups:
        return pattern.search(value) is not None
    return any(is_secret(match[1]) and (not random or changes_as_random(match[1])) for match in pattern.finditer(value))
