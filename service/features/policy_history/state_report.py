"""Reports of a plan: as text, as JSON, and as Markdown for a pull request."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from service.features.explain.dry_runs import KeptOut
from service.features.policy_history.state_applying import Applied
from service.features.policy_history.state_edits import Action, Edit, Edits
from service.features.policy_history.state_planning import Plan
from service.kernel.fields import camel
from service.kernel.text import counted, printable
from service.laboratory.analysis.impact import Difference, Differences
from service.laboratory.reporting.markdown import code_span
from service.web.messages.dry_run import KeptOutUsers
from service.web.messages.schema import Schema

_BARE: Final = re.compile(r"[\w:*./#%{}-]+")
_SIGNS: Final[dict[Action, str]] = {"create": "+", "update": "~", "delete": "-"}
_WORDS: Final[dict[Action, str]] = {"create": "create", "update": "change", "delete": "delete"}


class ReportedChange(Schema):
    """A field with its values before and after; before is null, or empty, if the object is created."""

    field: str
    before: Any
    after: Any


class ReportedEdit(Schema):
    """An edit of one object."""

    action: Literal["create", "update", "delete"]
    kind: str
    key: str
    changes: list[ReportedChange]


class ReportedObject(Schema):
    """An object that is not in the file, and stays."""

    kind: str
    key: str


class ReportedAccess(Schema):
    """How many users of a role gain or lose each request; no role for users without any."""

    role_code: str | None
    users: int
    access: list[str]


class PlanReport(Schema):
    """The planned changes, the affected users, and the reasons why nobody can apply the plan.

    ``gains`` and ``loses`` are null if no policy can be built from what would be stored. ``keptOut`` are
    users who are disabled or banned, and whom it would concern otherwise.
    """

    edits: list[ReportedEdit]
    left: list[ReportedObject]
    gains: list[ReportedAccess] | None
    loses: list[ReportedAccess] | None
    kept_out: KeptOutUsers
    refused: list[str]


class AppliedReport(Schema):
    """The applied changes and the resulting policy revision."""

    edits: list[ReportedEdit]
    left: list[ReportedObject]
    policy_revision: int


def plan_report(plan: Plan) -> PlanReport:
    """Return a plan in machine-readable form."""
    return PlanReport(
        reported_edits(plan.edits),
        reported_left(plan.edits),
        None if plan.impact is None else [ReportedAccess.of(gain) for gain in plan.impact.gains],
        None if plan.impact is None else [ReportedAccess.of(lose) for lose in plan.impact.loses],
        KeptOutUsers.of(plan.kept_out),
        list(plan.refused),
    )


def applied_report(applied: Applied) -> AppliedReport:
    """Return the result of an apply in machine-readable form."""
    return AppliedReport(reported_edits(applied.edits), reported_left(applied.edits), applied.revision)


def applied_as_lines(applied: Applied) -> list[str]:
    """Return the result of an apply as lines for people."""
    return [*_edits(applied.edits, done=True), f"In force: revision {applied.revision}."]


def reported_edits(edits: Edits) -> list[ReportedEdit]:
    """Return edits in machine-readable form."""
    return [ReportedEdit(edit.action, edit.kind, edit.key, _changes(edit)) for edit in edits.edits]


def reported_left(edits: Edits) -> list[ReportedObject]:
    """Return the objects that stay though the file does not have them."""
    return [ReportedObject(kind, key) for kind, key in edits.left]


def _changes(edit: Edit) -> list[ReportedChange]:
    return [ReportedChange(camel(name), old, new) for name, (old, new) in edit.changes.items()]


def _edits(edits: Edits, *, done: bool) -> list[str]:
    """Return a line for each edit, each changed field and each remaining object, and a line with the counts.

    ``done``: the edits were made.
    """
    lines = []
    for edit in edits.edits:
        lines.append(f"{_SIGNS[edit.action]} {edit.kind} {printable(edit.key)}")
        lines += (f"    {name}: {what}" for name, what in _described(edit, _value))
    lines += (
        f"? {kind} {printable(key)} is not in the file, and stays: --prune deletes it"
        for kind, key in edits.left
    )
    return [*lines, _counts(edits, done=done)]


def as_lines(plan: Plan) -> list[str]:
    """Return a plan as lines for people."""
    return [
        *_edits(plan.edits, done=False),
        *_impact_as_text(plan.impact),
        *_kept_out(plan.kept_out, printable),
        *(f"It can't be applied: {reason}" for reason in plan.refused),
    ]


def as_markdown(plan: Plan) -> str:
    """Return a plan as Markdown, for a pull request."""
    lines = ["## Changes of roles, menus, resources and bindings", "", _counts(plan.edits, done=False), ""]
    for reason in plan.refused:
        lines += [f"**It can't be applied:** {_code(reason)}", ""]
    for edit in plan.edits.edits:
        lines.append(f"- {_WORDS[edit.action]} {edit.kind} {_code(edit.key)}")
        lines += (
            f"  - {name}: {what}" for name, what in _described(edit, lambda value: _code(_value(value)))
        )
    lines += (f"- not in the file, stays: {kind} {_code(key)}" for kind, key in plan.edits.left)
    impact = plan.impact
    for title, differences in () if impact is None else (("Gains", impact.gains), ("Loses", impact.loses)):
        lines += ["", f"### {title}", ""]
        lines += [
            f"- {_whose(difference)}: {', '.join(map(_code, difference.access))}"
            for difference in differences
        ] or ["Nobody."]
    lines += (line for sentence in _kept_out(plan.kept_out, _code) for line in ("", sentence))
    return "\n".join(lines)


def _kept_out(kept_out: KeptOut, shown: Callable[[str], str]) -> Iterator[str]:
    """Yield the sentence about users who may not log in, with names formatted by ``shown``."""
    if kept_out.users:
        left = kept_out.users - len(kept_out.user_names)
        names = ", ".join(map(shown, kept_out.user_names)) + (f" and {left} more" if left else "")
        yield f"Without effect for {counted(kept_out.users, 'user')} disabled or banned: {names}."


def _impact_as_text(impact: Differences | None) -> Iterator[str]:
    if impact is not None:
        yield from _access_as_text("Gains", impact.gains)
        yield from _access_as_text("Loses", impact.loses)
        if not impact.gains and not impact.loses:
            yield "No access is gained or lost."


def _access_as_text(title: str, differences: Sequence[Difference]) -> Iterator[str]:
    if differences:
        yield f"{title}:"
    for difference in differences:
        yield f"  {_whose(difference)}:"
        yield from (f"    {name}" for name in difference.access)


def _whose(difference: Difference) -> str:
    who = "users without a role" if difference.role_code is None else f"role {difference.role_code}"
    return f"{who} ({counted(difference.users, 'user')})"


def _described(edit: Edit, shown: Callable[[Any], str]) -> Iterator[tuple[str, str]]:
    """Yield the change of each field, with values formatted by ``shown``; for lists the differing items."""
    for name, (old, new) in edit.changes.items():
        if isinstance(old, tuple):
            parts = [f"+ {shown(entry)}" for entry in new if entry not in old]
            parts += [f"- {shown(entry)}" for entry in old if entry not in new]
            yield name, ", ".join(parts)
        elif edit.before is None:
            yield name, shown(new)
        else:
            yield name, f"{shown(old)} -> {shown(new)}"


def _value(value: Any) -> str:
    if isinstance(value, str) and _BARE.fullmatch(value):
        return value
    return printable(json.dumps(msgspec.to_builtins(value), ensure_ascii=False))


def _counts(edits: Edits, *, done: bool) -> str:
    if not edits and not edits.left:
        return "The stored data matches the file."
    created, changed, deleted = (sum(edit.action == action for edit in edits.edits) for action in _SIGNS)
    left = f"; {counted(len(edits.left), 'object')} not in the file" if edits.left else ""
    if done:
        return f"{created} created, {changed} changed, {deleted} deleted{left}."
    return f"{created} to create, {changed} to change, {deleted} to delete{left}."


def _code(text: str) -> str:
    return code_span(printable(text))
