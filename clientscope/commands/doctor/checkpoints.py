"""Check of the job's checkpoints, as ``clientscope checkpoints verify`` does it."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from clientscope.commands.doctor.result import CheckResult, not_checked, ok, problem, warning
from clientscope.commands.doctor.situation import Situation
from streaming.checkpoints import lock, plans
from streaming.checkpoints.verify import verify


def check_checkpoints(situation: Situation) -> Iterator[CheckResult]:
    """The checkpoints of all queries, if the job has run here."""
    if situation.stream is None:
        yield not_checked("the settings of stream are invalid")
        return
    folder = situation.stream.checkpoint_dir
    if not any(plans.folder(folder, query).is_dir() for query in plans.PLANS):
        yield not_checked(f"no checkpoints in {folder}: the job has not run here", "run this where the job runs, to check them")
        return
    found, running = verify(folder), lock.holder(folder)
    for each in found:
        text = f"{each.query}: {each.what}"
        if running:  # files change while they are read
            yield warning(
                f"{text}; {running} is writing", "verify again", f"clientscope checkpoints verify --checkpoint-dir {quote(str(folder))}"
            )
        else:
            yield problem(text, each.hint)
    if not found:
        yield ok(f"all checkpoints in {folder} are whole" + (f", in use by {running}" if running else ""))
