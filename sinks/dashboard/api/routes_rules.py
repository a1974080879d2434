"""Routes of the rules' documentation."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, HTTPException, Path

from clientscope.api.common import ApiProblem
from clientscope.api.rules import RulePage
from clientscope.severities import Severity
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, Rule
from udfs.rules.registry import EVERY_RULE

Code = Annotated[str, Path(pattern="^[A-Z]{2}[0-9]{3}$")]


def routes() -> APIRouter:
    """The resources under ``/api/v1``."""
    router = APIRouter()
    by_code = {rule.code: rule for rule in EVERY_RULE}

    @router.get("/rules/{code}", responses={404: {"model": ApiProblem, "description": "no such rule"}})
    def rule(code: Code) -> RulePage:
        """What a rule finds, why that matters, what to do, and its source."""
        if code not in by_code:
            raise HTTPException(404, "this release has no such rule")
        return page(by_code[code])

    return router


def page(rule: Rule) -> RulePage:
    """A rule's documentation, with its thresholds filled in."""
    text = rule.documentation
    return RulePage(
        code=rule.code,
        name=rule.name,
        title=text.title,
        severity=cast(Severity, rule.severity),
        risks=list(rule.risks),
        client_types=sorted(str(each.value) for each in rule.client_types),
        needs=rule.needs.value,
        keys=list(rule.keys),
        what=_flowing(text.what),
        why=_flowing(text.why),
        example=_flowing(text.example),
        use_instead=_flowing(text.use_instead),
        source=text.source.splitlines(),
        links=list(text.links),
        fired=rule.message(FIRED),
        not_evaluable=rule.message(NOT_EVALUABLE),
    )


def _flowing(text: str) -> str:
    """Without the line breaks of the source code; paragraphs stay."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
