"""Credentials in what no format explains: settings of a file that are no client's, and lines of any text.

A line is searched for a name that a credential has with a value behind it (``password=…``, ``sasl_password => '…'``), and for a value that
is one by its shape: a JAAS module with a password, a user and a password in an address, a private key, a token of a known service. What is
to be filled in, is a sample, or is code that reads the value from elsewhere, is none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

from clientscope.catalog import sensitive
from clientscope.catalog.configs import Type
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.disguises import readings
from clientscope.catalog.placeholders import is_filled_in, is_placeholder
from clientscope.catalog.sensitive import Tier
from clientscope.catalog.sensitive_values import is_login_module, shape_of
from clientscope.catalog.value_states import ValueState
from clientscope.commands.lint.judging import Subject
from clientscope.commands.lint.placed import LINE_END, Placed, on_line

ALONE = "only credentials are judged here"
"""Of what no format explains, or is no client's."""

MOST = 200
"""Credentials of a file that are named; more are more of the same."""

_SHORTEST_NUMBER, _MOST_WORDS = 6, 2
LONGEST, _OVERLAP = 8_192, 1_024
"""Characters of a line that are looked at together, of a longer one part by part; and by how many the parts overlap."""

_NAMED = re.compile(r"pass|pw|secret|token|key|cred|jaas|login|user.?info|auth|curl|identified|mysql|plain|sha_?(?:256|512)|securestring")
"""What a line has in small letters that has a credential's name, or a command or a mechanism that takes one."""
_HINT = re.compile(rf"{_NAMED.pattern}|://|@|-----begin|eyj|ls0t|[a-z0-9+/_.-]{{16}}")
"""What any line has in small letters that is worth a closer look; to ignore their case takes much longer."""

_OF_REQUESTS = ("assword", "ecret", "hmac", "oginModule")
"""What a line of the request logger has that is worth a closer look: keys and tokens are in most of them."""

_KEY = re.compile(
    r"(?:(?P<key>(?:env:)?(?<![A-Za-z])[A-Za-z][\w.\[\]-]{0,119}+)\\?[\"'\]]{0,2}(?::\s?[A-Za-z_]\w{0,30}(?=\s{0,8}=\s))?\s{0,40}(?:=>|[:?]?=|:(?!\?))"
    r"|(?:(?<![^\s\"'\[(,=])--?|\bENV )(?P<option>[A-Za-z][\w.-]{0,60})"
    r"(?:=|(?:[\"'],(?=\s{0,40}[\"'])|[\"']?\s|,)(?!\s{0,40}[\"']?-)))\s{0,40}"
)
"""A name, and what separates it from its value: ``key =``, ``"key":``, ``key: str =``, ``["key"] =``, ``--key``, ``$env:key =``.

An option's value is the next word, or the next item of a list.
"""
_VALUE = re.compile(
    r"(?:[fbrFBR@]{0,2}\\?(?:\"\"\"|\")(?P<double>[^\"\\]{1,1024})[\"\\]|[fbrFBR]{0,2}\\?(?:'''|')(?P<single>[^'\\]{1,1024})['\\]|`(?P<tick>[^`\\\s]{1,1024})`"
    r"|[\"'](?P<cut>[^\s\"'\\+.,);][^\"'\\]{0,1023})$"
    r"|(?P<plain>[^\s\"',;&(){}\[\]<>|`](?:[^\s\"',;&(){}\[\]<>|`]|[,|](?=[^\s\"',;&(){}\[\]<>|`])(?![\w.-]{1,119}\s{0,8}[=:])){0,1023}))"
    r"(?P<next>\()?"
)
"""A value; without quotes it ends at white space and marks, and at a comma or a bar behind which there is no more of it.

A text that nothing closes counts, since a file may be cut off; so does what stands before a backslash.
"""
_APART = (
    re.compile(
        r"<(?:[\w-]{0,20}(?:key|name)>|[^<>]{0,80}\b(?:key|name)\s{0,8}=\s{0,8}[\"'])?(?P<key>[A-Za-z][\w.-]{0,119}+)"
        r"(?:[\"'][^<>]{0,80}|</[\w-]{1,40})?>\s{0,80}(?:<[\w-]{0,20}value>\s{0,80})?(?:<!\[CDATA\[)?(?P<value>[^<>]{1,1024}?)(?:\]\]>|</)"
    ),
    re.compile(
        r"\bvalue[\"']?\s{0,8}[=:]\s{0,8}[\"'](?P<value>[^\"'<>]{1,1024})[\"']\s{0,8},?\s{0,8}"
        r"[\"']?(?:key|name)[\"']?\s{0,8}[=:]\s{0,8}[\"'](?P<key>[A-Za-z][\w.-]{0,119})[\"']"
    ),
    re.compile(
        r"\b(?i:(?:parameter)?(?:name|key))[\"']?\s{0,8}[=:]\s{0,8}[\"']?(?P<key>[A-Za-z][\w.-]{0,119}+)[\"']?\s{0,8},?\s{0,8}"
        r"[\"']?(?i:(?:parameter)?value)[\"']?\s{0,8}[=:]\s{0,8}[\"']?(?P<value>[^\"'\\\s,})]{1,1024})"
    ),
    re.compile(r"\"(?P<key>[A-Za-z][\w.-]{0,119})\"\s{0,8}:\s{0,8}\[\s{0,8}\"(?P<value>[^\"\\\s]{16,1024})\"\s{0,8}\]"),
    re.compile(
        r"(?:\blogin\s{1,8}[^\s]{1,120}\s{1,8}|^\s{0,8}(?=password\s{1,8}[^\s]{1,1024}\s{0,8}$))"
        r"(?P<key>password)\s{1,8}(?P<value>[^\s\"']{1,1024})"
    ),
    re.compile(
        r"(?:(?:\w\(|\{)\s{0,8}[\"']|[\"'](?=[\w-]{1,60}\.))(?P<key>[A-Za-z][\w.-]{0,119}+)[\"']\s{0,8},\s{0,8}"
        r"[\"'](?P<value>[^\"'\\]{1,1024})[\"']\s{0,8}(?:[),.}]|$)"
    ),
    re.compile(
        r"(?<![\w.])(?P<key>[A-Za-z][\w.-]{0,119}+)"
        r"(?:(?<=_CONFIG)\s{0,8},|[\"']\s{1,8}(?:->|to)\s|[\"'\])]{0,3}\s{1,8}(?:or|\|\||\?\?)\s)\s{0,8}"
        r"(?:\"\"\"|[\"'])(?P<value>[^\"'\\]{1,1024})[\"']"
    ),
)
"""A name and a value in markup, as members of an object, alone in a list (as Keycloak has it), in .netrc, as arguments of a call or as a
pair, as a default, behind a constant of Kafka's (``SslConfigs.SSL_KEY_PASSWORD_CONFIG``)."""
_MARKUP = ("<", "name=", "value=")
"""What a name and a value in markup begin with, where a word is a value and no name of a variable."""
_USER = re.compile(
    r"(?:curl\b.{0,400}?\s(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"']{1,64}:|sshpass\s{1,8}-p\s{0,8}[\"']?"
    r"|addauth\s{1,8}digest\s{1,8}[^\s:]{1,64}:|(?:IDENTIFIED\s{1,8}BY|\b(?:USER|ROLE|WITH|LOGIN)\b[^'\"]{0,120}?\bPASSWORD)\s{1,8}[\"']|login\b.{0,400}?\s-p\s{1,8}[\"']?"
    r"|mysql(?:admin|dump)?\b.{0,400}?[\s\"']-p[\"']?|ConvertTo-SecureString\s{1,8}(?:-String\s{1,8})?[\"']"
    r"|(?:plain|(?:scram_)?(?i:sha)_?(?:256|512))\s{0,8},\s{0,8}(?:<<)?\"[^\"\s]{1,64}\"(?:>>)?\s{0,8},\s{0,8}(?:<<)?\")"
    r"(?P<value>[^\s\"'|;)]{1,1024})"
)
_USER_OF_MODULE = re.compile(r"\buser_[\w.@-]{1,64}\s{0,8}=\s{0,8}\\?[\"'](?P<value>[^\"'\\]{1,1024})")
"""A password that no name stands before, as an option or behind a mechanism; and in the lines of a login module that follow its name."""
_TEXT_FOLLOWS = re.compile(rf"{_KEY.pattern}(?:\"\"\"|'''|<<[-~]?\w{{1,40}}|(?:\||(?<![=-])>)[-+]?)$")
_VALUE_FOLLOWS = re.compile(
    r"(?:\w\(\s{0,8}|<\w{1,40}>|<[^<>]{1,80}\b(?:key|name)=|[\"']?\b(?i:(?:parameter)?(?:key|name))[\"']?\s{0,8}[:=]\s{0,8})?"
    r"[\"']?(?:(?<![^\s\"'\[(,=])--?|(?<![\w-]))(?P<key>[A-Za-z][\w.\[\]-]{0,119}+)"
    r"(?:[\"'\]]{0,2}\s{0,8}[:=,]{0,2}|</\w{1,40}>|[\"']\s{0,8}>)[\s\\`]{0,8}$"
)
"""A name whose value is on the next line: a text of several lines or a heredoc; a value in quotes, in an element, or of an option."""
_BEGINS = re.compile(r"(?:[<\"']|(?<![:=]\s)value\b)(?!.{0,200}LoginModule)")
_LONGEST_NAME = 256
"""Characters at the end of a line in which such a name is looked for."""
_STATEMENT = re.compile(r"[\w.-]{1,119}\s{0,8}[=:]\s{0,8}[^=\s]|.{0,200}(?:\w\(|LoginModule\b)")
"""What isn't a text on a line of its own: a name with a value, a call, or a module, which is looked at as a line."""
_ASSIGNED = re.compile(
    r"\s*(?:(?:export\s+|-\s+|ENV\s+|set\s+)?[A-Za-z][\w.]{0,119}=(?:\S*[^\s,])?|[A-Z][A-Z0-9_]{0,119}:\s{1,8}[a-z0-9][\w-]*)\s*"
)
"""A line that is one variable, as in YAML too, or one property, and its value; behind an argument of a call there is a comma."""
_REFERENCE = re.compile(r"=*[A-Za-z_][A-Za-z_.]*|(?:Get|New|Read|Convert(?:To|From))-[A-Z]\w*|[A-Za-z_]\w*(?:\.[\w-]+){2,}")
"""In code, without quotes: the name of what holds the value, or is compared with it; Terraform's has hyphens within."""
_NAMES = re.compile(r"[a-z][a-z0-9_-]*(?:,[a-z][a-z0-9_-]*)*")
_PROSE = re.compile(r"(?i)\b(?:an?|the|your?|my|this|is|has|have|must|be|to|of|for|not|and|or|with|please|enter)\b")
"""A word that a sentence has and a password of words hasn't."""
_NOT_LETTERS = re.compile(r"[-_.]")
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9]*_[A-Z0-9_]*(?::[A-Z][A-Z0-9_]*)?|\{[^{}\":]*\}|\[[A-Z_]+\d*\]")
"""The name of a variable, or those of a user's and a password's; in braces or brackets, what belongs there."""
_SAMPLE_TEXT = (
    r"(?:(?:please[-_. ]?)?change[-_. ]?(?:me|it|this)[!.]?)+|replace[-_.]?me"
    r"|(?:your|my|the|some|test|example|dummy|fake|sample|invalid)?[-_. ]?(?:p[a@][s$]{2}(?:w[o0]rd|wd|phrase)?|pwd|s[e3]cret|token|key"
    r"|(?:api|auth|secret)[-_ ]?(?:key|token))"
    r"|example|sample|dummy|fake|test|foo|bar|foobar|todo|tbd|str(?:ing)?|bytes|none|null|nil|undefined|true|false"
    r"|required|optional|hidden|redacted|read|write"
)
_SAMPLE = re.compile(rf"(?i)(?:{_SAMPLE_TEXT}|\W*)[-_.]?(?:\d|123)?|([a-z])\1{{2,}}|[~^<>=]{{1,2}}\d[\w.-]*")
"""What stands where a credential belongs, for a reader to replace; and a version, of a package that is named like one."""
_SAMPLE_USER = re.compile(rf"(?i)(?<=[/\s\"'\[])[\w.\[-]{{0,64}}:(?:{_SAMPLE_TEXT})\d?\]{{0,2}}@")
"""The same before a host: ``user:password@``, and ``[user[:password]]@`` as a synopsis."""
_ELSEWHERE = re.compile(
    r"(?:env|fd|file|pass):.*|(?:/[a-z0-9_.-]+)+/?(?::r[ow])?|(?:secret|kv|database)/[\w./-]+|urn:[\w:.-]+|[\w.$]+LoginModule\s*|process\.env\.\w+"
    r"|!(?:vault|secret|reference|env\w*|Ref|Sub|GetAtt|ImportValue)"
)
"""A path, also of a volume, or a tag of YAML; only with small letters, since random text in base64 may have slashes."""
_RUN = re.compile(r"[A-Za-z0-9+/]{32,}")
_JAAS_PASSWORD = re.compile(r"password\s{0,8}=\s{0,8}\\?[\"']([^\"'\\]{1,1024})")
_REFERRING = re.compile(
    r"(?i)(?:ref|refs|secrets\[\d+\]|items\[\d+\]|encryptedData|secretKeys|passwordSecret)\.|password[-_]?keys?$|(?:existing|tls|pull)[-_]?secrets?$|passwords?[-_]?secret\w*$|(?-i:[a-z]Secret)\.key$"
    r"|agent-inject|data\[\d+\]\.secretKey$"
)
"""Names of what has a secret's name, such as below Kubernetes' ``secretKeyRef`` or in Vault's annotations."""
_SOUNDS = re.compile(
    r"(?i)from-secret|forgot[-_.]?password|passwordless|proxy_pass|mkpasswd|pass[-_.]?(?:through|ed\b|failed)"
    r"|\b(?:[bes]o[st]|pad|unk|mask|sep|cls|image|delimiter)_token$"
)
"""Words in names that only sound like a credential's; so have the tokens that a text for a model is made of."""
_EXPRESSIONS = ("expr", "pattern", "].record")
"""Ends of names, in small letters, of PromQL and of layouts of logs, in which ``token="x"`` is a label, or what comes before a value."""
_BY_NAME = ("assignment", "named", "option", "userinfo")
"""Shapes that are a name with a value behind it, which is looked for above, or too little for a line of prose."""
_OF_OTHERS = re.compile(
    r"(?i)(?:names?|refs?|files?|paths?|dir|location|mount|type|class|enabled|flow|policy|pattern|algorithms?|requirement|preference|attachment"
    r"|ur[il]|id|version|properties|vault|length|size|count|ttl|expir\w*|description|title|summary|flag|examples?|placeholder|label|hint|prompt)$"
)
"""Ends of names that say something about a credential, and aren't one."""


class Search:
    """A search for credentials in lines, one after the other.

    Attributes:
        found: each with its place; once there are `MOST`, no more are looked for.
    """

    def __init__(self) -> None:
        self.found: list[Placed] = []
        self._before = ""
        """The name whose value the next line has, as it would stand before that on one line."""
        self._of_module = False
        """Whether the options of a login module follow."""

    def add(self, number: int, line: str) -> None:
        """Takes a line."""
        before, self._before = self._before, ""
        if len(self.found) >= MOST:
            return
        if before or self._of_module:
            self._keep(self._following(before, number, line))
        for start in range(0, len(line), LONGEST - _OVERLAP):
            piece = line[start : start + LONGEST]
            if len(self.found) < MOST and _HINT.search(piece.lower()):
                self._keep(on_line(each.name, each.value or "", number, start + each.region.column - 1) for each in _in_line(number, piece))
                if _NAMED.search(piece.lower()):
                    self._open(piece)

    def add_of_request(self, number: int, line: str) -> None:
        """Takes a line of a broker's request logger, of which each value counts once: the same comes again and again."""
        if len(self.found) < MOST and any(word in line for word in _OF_REQUESTS):
            known = {each.value for each in self.found}
            line = line[:LONGEST].replace('"hmac":', '"token.secret":')  # with which whoever has a delegation token logs in
            self.found += [each for each in _named(number, line) if each.value not in known]

    def _keep(self, found: Iterable[Placed]) -> None:
        self.found += [each for each in found if each not in self.found]

    def _open(self, line: str) -> None:
        if is_login_module(line):
            self._of_module = True
        self._of_module &= ";" not in line
        end = line.rstrip()[-_LONGEST_NAME:]
        if (match := _TEXT_FOLLOWS.search(end)) and _by_name(name := match["key"] or match["option"]):
            self._before = f'{name}="'
        elif (match := _VALUE_FOLLOWS.search(end)) and _by_name(match["key"]):
            self._before = match[0].rstrip("\\` ") + " "

    def _following(self, before: str, number: int, line: str) -> Iterator[Placed]:
        text = line.lstrip()
        if before.lstrip("\"'").startswith("-"):  # an option; its value may be the next item of a list
            text = text.removeprefix("- ")
        elif not _BEGINS.match(before + text, len(before)) and (not before.endswith('"') or _STATEMENT.match(text)):
            before = ""
        start = len(line) - len(text)
        for each in _named(number, before + text[:LONGEST]) if before else ():
            if (at := each.region.column - 1 - len(before)) >= 0:
                yield on_line(each.name, each.value or "", number, start + at)
        for match in _USER_OF_MODULE.finditer(line) if self._of_module else ():
            if _is_literal(match["value"], False, line):
                yield on_line("password", match["value"], number, match.start("value"))
        self._of_module &= ";" not in line


def in_lines(lines: Iterable[str]) -> list[Placed]:
    """The credentials in text, each with its place; `MOST` of them at most."""
    search = Search()
    for number, line in enumerate(lines, 1):
        search.add(number, line)
    return search.found[:MOST]


def is_sample(value: str) -> bool:
    """Whether a setting's value stands there for a reader to replace: as a whole, or the password of a JAAS module."""
    password = _JAAS_PASSWORD.search(value) if is_login_module(value) else None
    text = password[1] if password else value.strip()
    return _SAMPLE.fullmatch(text) is not None or _CONSTANT.fullmatch(text) is not None


def is_credential(placed: Placed) -> bool:
    """Whether a setting that no client has holds a credential, by its name or by its value's shape."""
    value = (placed.value or "").strip()
    if not value or is_placeholder(value) or is_sample(value) or _ELSEWHERE.fullmatch(value):
        return False
    if shape_of(_SAMPLE_USER.sub("@", value), _BY_NAME if placed.name.lower().endswith(_EXPRESSIONS) else ()) or any(_encoded(value)):
        return True
    names = _NAMES if placed.name.endswith("secrets") else _REFERENCE  # of Compose's secrets, a service's list; or of tokens
    if placed.name.lower().endswith(("secrets", "token")) and names.fullmatch(value):
        return False
    return _by_name(placed.name) and not is_filled_in(value) and not _is_about(placed.name, value)


def is_text(placed: Placed) -> bool:
    """Whether a value is a script or a document, whose lines are looked at one by one."""
    several = placed.region.line != placed.region.end_line
    return several and not _by_name(placed.name) and not is_login_module(placed.value or "")


def is_command(placed: Placed) -> bool:
    """Whether a value may be a command, or is a list, whose words say what the next one is."""
    return "," in (placed.value or "") or " -" in (placed.value or "")


def _is_about(name: str, value: str) -> bool:
    """Whether a value repeats its name, or is prose; or, where only a level above has a credential's name, has words or is a number."""
    last = name.rpartition(".")[2]
    if _NOT_LETTERS.sub("", last).lower() == _NOT_LETTERS.sub("", value).lower():
        return True
    if _PROSE.search(value) and len(value.split()) > _MOST_WORDS:
        return True
    return not _by_name(last) and (len(value.split()) > _MOST_WORDS or (value.isdecimal() and len(value) < _SHORTEST_NUMBER))


@lru_cache(maxsize=4096)
def _by_name(name: str) -> bool:
    """Whether a name is one that a credential has."""
    if _OF_OTHERS.search(name) or _REFERRING.search(name):
        return False
    name = _SOUNDS.sub("", name)
    state = sensitive.reason(name, "x", Type.STRING)
    return state is not ValueState.PRESENT and sensitive.tier(state, name, Type.STRING, None) is Tier.CREDENTIAL


def _in_line(number: int, line: str) -> Iterator[Placed]:
    if is_login_module(line):
        if shape_of(line):
            name, start = _module(line)
            yield on_line(name, line[start:].rstrip(), number, start)
        return
    rest = line
    for each in _named(number, line) if _NAMED.search(line.lower()) else ():
        yield each
        rest = rest.replace(each.value or "", "")
    if shape_of(_SAMPLE_USER.sub("@", rest), without=_BY_NAME):
        yield on_line("line", line.strip(), number, len(line) - len(line.lstrip()))
    elif rest == line:
        yield from (on_line("password", run[0], number, run.start()) for run in _encoded(line))


def _encoded(text: str) -> Iterator[re.Match[str]]:
    """What stands in a text in base64 and has a credential, such as a file of a Secret."""
    return (run for run in _RUN.finditer(text) if any(in_lines(LINE_END.split(plain)) for plain in readings(run[0])))


def _named(number: int, line: str) -> Iterator[Placed]:
    """The values in a line that have a credential's name."""
    for match in _KEY.finditer(line):  # a value isn't passed over: ``INFO: password=…`` and quoted text have pairs within
        key = match["key"] or match["option"]
        if key.lower().endswith(_EXPRESSIONS):
            break
        found = _VALUE.match(line, match.end()) if _by_name(key) else None
        if found is None or found["next"]:
            continue
        group = found.lastgroup or "plain"
        is_plain = group == "plain" or key.lower().endswith("token")  # what has a token's name is often the name of one
        parts = re.split("[,|]", found[group]) if group == "plain" else (found[group],)
        if not _is_about(key, found[group]) and any(_is_literal(part, is_plain, line) for part in parts if part):
            yield on_line(key, found[group], number, found.start(group))
    for found in _USER.finditer(line):
        if _is_literal(found["value"], False, line):
            yield on_line("password", found["value"], number, found.start("value"))
    for apart in _APART:
        for found in apart.finditer(line):
            if _by_name(found["key"]) and _is_literal(found["value"], not found[0].startswith(_MARKUP), line):
                yield on_line(found["key"], found["value"], number, found.start("value"))


def _module(line: str) -> tuple[str, int]:
    """The name of the setting that has a JAAS module in a line, and where the module begins; ``line`` for none."""
    start = re.search(r"[\w.$]{0,200}LoginModule", line)
    assert start is not None
    before = re.search(r"([A-Za-z][\w.\[\]-]{0,119})[\"']?\s{0,8}(?:=>|:=|=|:)\s{0,8}\\?[\"']?$", line[: start.start()])
    return (before[1] if before else "line"), start.start()


def _is_literal(value: str, is_plain: bool, line: str) -> bool:
    """Whether a value is what it says, rather than a placeholder, a sample, or the name of what holds it."""
    if is_placeholder(value) or is_filled_in(value) or _SAMPLE.fullmatch(value) or _ELSEWHERE.fullmatch(value) or value[0] in "$%{<@*&`‹…":
        return False
    if len(value.split()) > _MOST_WORDS or _CONSTANT.fullmatch(value):
        return False
    if value.isdecimal() and len(value) < _SHORTEST_NUMBER:  # an api key of Kafka's is a number
        return False
    return not is_plain or _ASSIGNED.fullmatch(line) is not None or _REFERENCE.fullmatch(value) is None


def subjects(found: Iterable[Placed]) -> Iterator[Subject]:
    """What is to be judged of credentials that are no client's settings: each by itself, by a name of its own."""
    of_name: Counter[str] = Counter()
    for each in found:
        of_name[each.name] += 1
        own = f"{each.name}#{of_name[each.name]}"
        yield Subject({each.name: each}, JAVA, "unknown", None, complete=False, observed=True, loose=own)
