"""Restores the shared lines of a past policy revision, by edits that the caller may make."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from service.administration.unit_of_work import UnitOfWork, UnitsOfWork
from service.audit.seals import RevisionSeals
from service.authz.engine.lines import Lines, changes
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ASSURANCE, PERMISSION, Rule
from service.authz.publishing.contributions import contributed_layers
from service.errors import Conflict, NotFound
from service.features.policy_history.restore_plan import Obstacle, plan
from service.features.policy_history.sentences import sentence
from service.features.policy_history.steps import Ids, Step
from service.kernel.cooperative_yield import cooperatively
from service.kernel.write import Write
from service.records.published import policy_history, policy_revisions
from service.records.published.policy_history import PublishedLine

_NAMED: Final = 3  # obstacles in the detail of a refusal


@dataclass(frozen=True, slots=True)
class Restored:
    """The edits made, in order, and the policy in which they are in force."""

    edits: tuple[Step, ...]
    policy: Policy


class PolicyRestore:
    """Restores past revisions: all edits or none."""

    def __init__(self, units: UnitsOfWork, seals: RevisionSeals) -> None:
        """``seals`` verify that revisions are unchanged."""
        self._units = units
        self._seals = seals

    async def restore(self, write: Write, revision: int, match: Callable[[int], None]) -> Restored:
        """Make the edits that restore the shared lines of ``revision``.

        ``match`` is called with the newest revision, under the lock; its exceptions roll the change back.
        Raises ``NotFound`` for an unknown revision, and ``RevisionUntrusted`` if it or the newest one differs
        from its published version. Raises ``Conflict`` with ``cannotReturn`` if an object can't be restored,
        and ``PermissionDenied`` if the caller may not make one of the edits individually. Also raises what
        the edits and ``UnitsOfWork.publishing`` raise.
        """
        async with self._units.publishing(write, sentence("cause_restored", revision=revision)) as unit:
            latest = await policy_revisions.latest(unit.connection)
            newest = 0 if latest is None else latest.revision
            match(newest)
            if await policy_revisions.read(unit.connection, revision) is None:
                raise NotFound(sentence("no_such_revision"))
            if not await policy_history.is_kept(unit.connection, revision):
                raise Conflict(sentence("contents_not_stored"), rule="history")
            await self._seals.require(unit.connection, revision, newest)
            steps, obstacles = await plan(unit.connection, revision, newest)
            if obstacles:
                raise _cannot_return(revision, obstacles)
            made = await _make(unit, steps)
            assert unit.change is not None  # noqa: S101 - the unit publishes
            lines = await policy_history.lines_at(unit.connection, revision)
            candidates: list[Policy] = []
            unit.change.ask(candidates.append)
            unit.change.before_commit(lambda: _require_same(candidates[-1], lines, revision))
        return Restored(made, unit.policy)


async def _make(unit: UnitOfWork, steps: list[Step]) -> tuple[Step, ...]:
    """Make the steps in order; return them with the ids of created records, except in a dry run."""
    ids: Ids = {}
    made = [await step.make(unit, ids) for step in steps]
    # Records created in a dry run have no id afterwards.
    return tuple(made if unit.write.dry_run is None else steps)


async def _require_same(candidate: Policy, lines: list[PublishedLine], revision: int) -> None:
    """Raise ``Conflict`` unless ``candidate``, the policy to be published, has the lines ``lines``."""
    differing = await asyncio.to_thread(_differing, candidate, lines)
    if differing:
        raise Conflict(
            sentence("rows_changed_directly", revision=revision),
            rule="history",
            differing=differing[:20],
        )


def _differing(candidate: Policy, lines: list[PublishedLine]) -> list[str]:
    expected = Lines(Rule(*line) for line in cooperatively(lines))
    differing = []
    newer_layers = [layer for layer in (PERMISSION, ASSURANCE) if not expected.objects(layer)]
    for layer, name in sorted(changes(expected.by_object, candidate.shared.by_object)):
        # Lines of features follow from rows that stay.
        if layer in newer_layers or layer in contributed_layers():
            continue
        differing += sorted(
            {*map(str, expected.of(layer, name))} ^ {*map(str, candidate.shared.of(layer, name))}
        )
    return differing


def _cannot_return(revision: int, obstacles: list[Obstacle]) -> Conflict:
    named = [sentence("obstacle", name=each.name, reason=each.reason) for each in obstacles[:_NAMED]]
    if len(obstacles) > _NAMED:
        named.append(sentence("obstacles_more", count=len(obstacles) - _NAMED))
    listed = reduce(lambda rest, first: sentence("obstacles_listed", first=first, rest=rest), reversed(named))
    reasons = [
        {
            "name": each.name,
            "reason": str(each.reason),
            "reasonCode": each.reason.code,
            "reasonParams": each.reason.params,
        }
        for each in obstacles
    ]
    stated = sentence("revision_not_restorable", revision=revision, obstacles=listed)
    return Conflict(stated, rule="history", cannotReturn=reasons)
