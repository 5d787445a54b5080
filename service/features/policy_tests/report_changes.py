"""The section about changes since a revision: their editors, and access gained and lost."""

from collections.abc import Iterator, Sequence
from typing import Any

from service.features.explain.policy_layers import DiffCaller
from service.features.explain.wording import caller_text
from service.features.policy_history.api_revisions import RevisionChanges
from service.features.policy_tests.report_gathering import Changes, Reported
from service.kernel.text import counted
from service.laboratory.reporting.document import Block, Cell, Paragraph, Table, readable_time
from service.web.messages.access_change import AccessChange
from service.web.messages.schema import moment


def blocks(reported: Reported) -> Iterator[Block]:
    """Yield the changes since the named revision."""
    if reported.stored is None:
        yield Paragraph("Left out: revisions are in the database, and no installation was read.")
    elif (changes := reported.stored.changes) is None:
        yield Paragraph("Left out: no revision was named, by --since.")
    else:
        yield from _since(changes)


def _since(changes: Changes) -> Iterator[Block]:
    since = changes.since
    yield Paragraph(
        f"Since revision {since.revision} of {readable_time(moment(since.create_time))}: "
        f"{counted(len(changes.revisions), 'revision')}, {counted(len(changes.lines.removed), 'line')} "
        f"removed and {len(changes.lines.added)} added in all. The model and the files are the current ones "
        "for both."
    )
    rows: list[tuple[Cell, ...]]
    if changes.revisions:
        rows = [
            (
                Cell(str(revision.revision)),
                Cell(readable_time(revision.create_time)),
                Cell(revision.user_name or "a start or a command"),
                Cell(revision.cause),
                Cell(_lines(revision), code=True),
            )
            for revision in changes.revisions
        ]
        yield Table("Revisions, newest first", ("Revision", "Time", "By", "Cause", "Lines"), rows)
    yield from _rights(changes)
    access = changes.access
    rows = [*_gains_and_losses("loses", access.loses), *_gains_and_losses("gains", access.gains)]
    if rows:
        yield Table("Access lost and gained by the changed lines", ("Role", "Users", "How", "Requests"), rows)
    else:
        yield Paragraph("The changed lines neither add nor remove access of any current role.")
    if access.callers:
        callers = [
            (Cell(caller.name, code=True), Cell(_caller(caller.loses)), Cell(_caller(caller.gains)))
            for caller in access.callers
        ]
        head = ("Request or code", "Passed then, not now", "Passes now, not then")
        yield Table("Decided differently for a possible caller", head, callers)


def _rights(changes: Changes) -> Iterator[Block]:
    if not changes.rights:
        yield Paragraph("The operation log has no change of roles or of users' roles since then.")
        return
    rows = [
        (
            Cell(readable_time(change.create_time)),
            Cell(change.user_name or ""),
            Cell(change.target, code=True),
            Cell(change.field),
            Cell(_value(change.before), code=True),
            Cell(_value(change.after), code=True),
        )
        for change in changes.rights
    ]
    head = ("Time", "By", "Record", "Field", "Before, or removed", "After, or added")
    yield Table("Changes of roles and users, from the operation log", head, rows)


def _value(value: Any) -> str | list[str]:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return [str(element) for element in value]
    return "" if value is None else str(value)


def _lines(revision: RevisionChanges) -> list[str]:
    if revision.distrust is not None:
        return [f"NOT as it was published: {revision.distrust}"]
    if revision.added_lines is None or revision.removed_lines is None:
        return ["not kept"]
    tampered = (
        [f"{revision.tampered} lines or revisions changed directly in the database"]
        if revision.tampered
        else []
    )
    return [
        *tampered,
        *(f"- {line}" for line in revision.removed_lines),
        *(f"+ {line}" for line in revision.added_lines),
    ]


def _gains_and_losses(how: str, changes: Sequence[AccessChange]) -> Iterator[tuple[Cell, ...]]:
    for change in changes:
        yield (
            Cell(change.role_code or "no role"),
            Cell(str(change.users)),
            Cell(how, tone="attention" if how == "gains" else ""),
            Cell(change.access, code=True),
        )


def _caller(caller: DiffCaller | None) -> str:
    return "" if caller is None else caller_text(caller)
