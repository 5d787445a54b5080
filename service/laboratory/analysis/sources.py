"""Source of the policy that a question is about: the database, now or at a revision, or files.

Files need no database. They contain no roles and users: those of a database are used if one is available.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from service.audit.seals import RevisionSeals
from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.authz.engine.rules import (
    ACCOUNT,
    ASSURANCE,
    ENDPOINT,
    REVIEW,
    PolicyFileError,
    Rule,
    as_csv,
    read_rules,
)
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import (
    MODEL,
    POLICIES,
    Lint,
    Shipped,
    is_stored,
    read_model,
    read_shipped,
)
from service.errors import ValidationFailed
from service.kernel.assurance import BY_STRONGEST, SERVICE, Satisfied
from service.kernel.clock import rfc3339
from service.kernel.codes import HeldCodes, is_code
from service.kernel.core_sentences import sentence
from service.kernel.identity import Kind
from service.kernel.request_objects import code_of_review
from service.kernel.services import PORTCULLIS
from service.laboratory.analysis.explain import BY_NAME
from service.laboratory.analysis.impact import Standing
from service.laboratory.lint.model import lint_model
from service.records import accounts, role_holdings, role_lives, role_rights, roles
from service.records.database.transactions import Connection, Database
from service.records.published import policy_history, policy_revisions
from service.records.published.policy_history import Place


@dataclass(frozen=True, slots=True)
class Instant:
    """The instant of a question: ``at``, None for now; ``then`` is the same if it is past.

    The whole question is about that instant: the revision, the expired lines, the assignments of roles, and
    the codes of roles. For a future instant the known beginnings and ends count. The status and ban of a user
    are always the present ones.
    """

    at: datetime | None = None
    then: datetime | None = None


NOW: Final = Instant()


async def instant_of(connection: Connection, at: datetime | None) -> Instant:
    """Return the instant ``at``; ValidationFailed if it is not known what roles gave then."""
    if at is None:
        return NOW
    if not await role_lives.is_past(connection, at):
        return Instant(at)
    known_since = await role_lives.known_since(connection)
    if known_since is None or at < known_since:
        beginning = "any role" if known_since is None else rfc3339(known_since)
        raise ValidationFailed(("at", sentence("time_before_history", beginning=beginning)))
    return Instant(at, at)


@dataclass(frozen=True, slots=True)
class Subject:
    """The held codes, None for a caller without a session; the rest is about a stored user or role.

    ``kept_out``: the user is disabled or banned, and the service serves none of their requests. ``satisfied``
    are the assumed words of a logged-in subject. ``keys_barred``: a role allows no API keys of people; None
    without a role, and for a past instant, since the past of that setting is not kept.
    """

    held: HeldCodes | None
    status: str | None = None
    user_id: int | None = None
    role_code: str | None = None
    kept_out: bool = False
    satisfied: Satisfied = BY_NAME
    keys_barred: bool | None = None


async def subject_of(
    connection: Connection,
    user_name: str | None,
    permissions: Sequence[str] | None,
    role_code: str | None = None,
    instant: Instant = NOW,
) -> Subject:
    """Return a user by name, a holder of ``permissions``, or of one role; with none of them, a visitor.

    Raises ValidationFailed for several, an unknown user or role, and an invalid permission code.
    """
    if sum(given is not None for given in (user_name, permissions, role_code)) > 1:
        raise ValidationFailed(("permissions", sentence("one_subject")))
    if user_name is not None:
        return await _user(connection, user_name, instant)
    if role_code is not None:
        return await _role(connection, role_code, instant)
    return Subject(None) if permissions is None else holder_of(permissions)


def holder_of(permissions: Sequence[str]) -> Subject:
    """Return a holder of ``permissions``; ValidationFailed for an invalid permission code."""
    faults = [
        (f"permissions[{place}]", sentence("not_permission_code"))
        for place, code in enumerate(permissions)
        if not is_code(code)
    ]
    if faults:
        raise ValidationFailed(*faults)
    return Subject(HeldCodes(permissions))


async def _user(connection: Connection, user_name: str, instant: Instant) -> Subject:
    account = await accounts.standing(connection, user_name)
    if account is None:
        raise ValidationFailed(("userName", sentence("no_such_user")))
    return await subject_with(connection, account, instant)


async def subject_with(
    connection: Connection, standing: accounts.Standing, instant: Instant = NOW
) -> Subject:
    """Return a stored user, with what they hold at ``instant``."""
    barred = None
    if instant.then is None:
        rights = await role_rights.of(connection, standing.user_id, instant.at)
        held, barred = rights.permissions, rights.keys_barred
    else:
        held = await role_lives.held_by(connection, standing.user_id, instant.then)
    kept_out = standing.banned or standing.status != "enabled"
    return Subject(
        HeldCodes(held),
        standing.status,
        standing.user_id,
        kept_out=kept_out,
        satisfied=BY_STRONGEST[SERVICE] if standing.kind == "service" else BY_NAME,
        keys_barred=barred,
    )


async def _role(connection: Connection, role_code: str, instant: Instant) -> Subject:
    given = (await role_holdings.read_codes(connection, instant.then)).get(role_code)
    if given is None:
        raise ValidationFailed(("roleCode", sentence("no_such_role")))
    stored = await roles.by_code(connection, [role_code]) if instant.then is None else {}
    barred = not stored[role_code].personal_keys if role_code in stored else None
    return Subject(HeldCodes(given), role_code=role_code, keys_barred=barred)


class PastPolicies:
    """Rebuilds policies of past revisions from their kept lines and this node's static policy.

    The static policy is that of this moment: history keeps the stored policy alone.
    """

    def __init__(self, shipped: Shipped, seals: RevisionSeals) -> None:
        """``seals`` say which revisions are as they were published."""
        self.shipped: Final = shipped
        self.seals: Final = seals
        self._turn = asyncio.Lock()

    async def of(self, connection: Connection, revision: int, place: Place | None = None) -> Policy:
        """Return the policy of ``revision``: whole, or with the lines that could decide about ``place`` only.

        Answers of the layers resource and endpoint about a request, or of the layers of codes about a code,
        are those of the whole policy. One is built at a time, in a thread. The caller makes sure that the
        lines of ``revision`` are kept; see ``history.is_kept``. Raises RevisionUntrusted unless all of them
        are those that were published.
        """
        async with self._turn:
            await self.seals.require(connection, revision)
            lines = await policy_history.lines_at(connection, revision, place)
            return await asyncio.to_thread(self._build, lines, revision)

    async def at(
        self, connection: Connection, live: Policy, instant: Instant, place: Place | None = None
    ) -> Policy:
        """Return the policy that decided, or will decide, at ``instant``; ``live`` is the one in force.

        For a past instant it is that of the newest revision at that time: see ``of``. ValidationFailed if its
        lines are not kept.
        """
        if instant.at is None:
            return live
        policy = live
        if instant.then is not None:
            revision = await policy_revisions.newest_at(connection, instant.then)
            if revision is None or not await policy_history.is_kept(connection, revision):
                raise ValidationFailed(("at", sentence("policy_not_stored")))
            if revision != live.revision:
                policy = await self.of(connection, revision, place)
        return policy.at(instant.at.timestamp())

    def _build(self, lines: list[policy_history.PublishedLine], revision: int) -> Policy:
        return self.shipped.policy(Lines(Rule(*line) for line in lines), {}, revision)


LINES: Final = "policy.csv"


def export(policy: Policy, folder: Path) -> tuple[Path, Path]:
    """Write ``model.conf`` and ``policy.csv`` to ``folder``, created if missing; return their paths.

    A plain ``casbin.Enforcer`` loads the two, with the six functions of docs/explanation/policy.md
    registered, and makes the same decisions. Existing files are replaced. Raises OSError if they can't be
    written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model, lines = folder / MODEL, folder / LINES
    # Bytes, since the files must be the same everywhere, line ends included.
    model.write_bytes(policy.model_text.encode())
    lines.write_bytes(as_csv(policy.rules).encode())
    return model, lines


LIVE: Final = "live"
"""Names the policy in force, as published."""
SHIPPED: Final = "shipped"
"""Names the node's static policy, without anything registered."""
NAMES: Final = f"{LIVE}, {SHIPPED}, a revision such as 12, or a folder with {MODEL} and {POLICIES} or {LINES}"
"""Possible sources, for the help of commands."""
READ_WITHIN: Final = 60.0
"""Seconds for reading resources, roles and users; a hundred thousand users take some tenths of one."""


@dataclass(frozen=True, slots=True)
class Source:
    """A policy source, as it was named: ``live``, ``shipped``, a ``revision`` or a ``folder``."""

    name: str
    revision: int | None = None
    folder: Path | None = None

    @property
    def stored(self) -> bool:
        """True if the policy is read from the database."""
        return self.revision is not None or self.name == LIVE


def source_named(name: str) -> Source:
    """Return the source that ``name`` names: one of ``NAMES``, ``r12`` too; raises PolicyError for none."""
    if name in (LIVE, SHIPPED):
        return Source(name)
    if match := re.fullmatch(r"r?([1-9][0-9]{0,17})", name):
        return Source(name, revision=int(match[1]))
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return Source(name, folder=folder)
    raise PolicyFileError(f"{name!r} is no policy: name {NAMES}")


def read_folder(folder: Path, lint: Lint = lint_model) -> Policy:
    """Return the policy of ``folder``, as revision 0: its static policy alone, or all lines of an export.

    A folder with ``policies`` is laid out like the shipped files and read as strictly; one with
    ``policy.csv`` is an export, in which any line of the grammar may stand, so that a changed one can be
    reviewed. ``lint`` checks the model. Raises PolicyError with file, line and reason of every fault.
    """
    if (folder / LINES).exists():
        return _read_export(folder, lint)
    if (folder / POLICIES).is_dir():
        return static_policy(read_shipped(folder / MODEL, folder / POLICIES, lint=lint))
    raise PolicyFileError(f"{folder} has neither {POLICIES} nor {LINES} beside {MODEL}")


def static_policy(shipped: Shipped) -> Policy:
    """Return the static policy alone as a policy, as revision 0: nothing is registered, no Button exists."""
    return shipped.policy(Lines(), {}, 0)


def _read_export(folder: Path, lint: Lint) -> Policy:
    model_text = read_model(folder / MODEL, lint)
    base: list[Rule] = []
    endpoints: list[Rule] = []
    accounts: list[Rule] = []
    shared: list[Rule] = []
    assurance: list[Rule] = []
    for rule in read_rules(folder / LINES):
        if rule.layer == ASSURANCE:
            (shared if is_stored(rule.object) else assurance).append(rule)
            continue
        if rule.layer == REVIEW and code_of_review(rule.object) is not None:
            shared.append(rule)
            continue
        of_code = rule.layer == ENDPOINT or rule.object.startswith(f"{PORTCULLIS} ")
        part = endpoints if of_code else base if rule.object.startswith("@") else shared
        (accounts if rule.layer in (ACCOUNT, REVIEW) else part).append(rule)
    own = Shipped(model_text, tuple(base), tuple(endpoints), tuple(accounts), assurance=tuple(assurance))
    return own.policy(Lines(shared), {}, 0)


async def read_policy(source: Source, past: PastPolicies, database: Database | None) -> Policy:
    """Return the policy of ``source``; ``past`` has the static policy of this node, also for a past revision.

    ``database`` may be None unless ``source.stored``. Raises PolicyError if the policy does not exist or
    cannot be used, RevisionUntrusted if it is not as published, and Unavailable.
    """
    if source.folder is not None:
        return await asyncio.to_thread(read_folder, source.folder)
    if not source.stored:
        return static_policy(past.shipped)
    if database is None:
        raise PolicyFileError(f"{source.name}: this policy is in the database")
    if source.revision is None:
        live = LivePolicy(past.shipped, past.seals)
        await live.load(database)
        return live.current
    async with database.snapshot(within=policy_history.READ_WITHIN) as connection:
        return await past_policy(connection, past, source.revision)


async def past_policy(connection: Connection, past: PastPolicies, revision: int) -> Policy:
    """Return the whole policy of ``revision``; PolicyError if its lines are not kept, RevisionUntrusted."""
    if not await policy_history.is_kept(connection, revision):
        latest = await policy_revisions.latest(connection)
        newest = "none is published" if latest is None else f"the newest is {latest.revision}"
        raise PolicyFileError(f"There is no revision {revision}, or its lines were not kept; {newest}")
    return await past.of(connection, revision)


async def standing_of(
    policy: Policy, connection: Connection | None, instant: Instant = NOW, *, kind: Kind | None = None
) -> Standing:
    """Return the permissions by ``policy``, with the stored roles and users as of ``instant``.

    With ``kind`` "person", service accounts don't count. Without a connection the result has neither roles
    nor users.
    """
    if connection is None:
        return Standing(policy, {}, Counter())
    holdings = await role_holdings.read(connection, instant.at, instant.then)
    users = holdings.persons if kind == "person" else holdings.users
    return Standing(policy, holdings.codes, users)
