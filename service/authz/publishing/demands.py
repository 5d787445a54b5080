"""Reads the demands of a node: the strength of authentication required for each object.

They are in ``assurance.table``. Folders of development versions have a file of lines for each level in its
place, such as ``assurance/base.csv``. These are still read.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from service.authz.engine.rules import (
    ACCOUNT,
    ANYONE,
    ASSURANCE,
    ENDPOINT,
    LOGIN,
    NO_SESSION,
    PREFLIGHT,
    RESOURCE,
    UNREGISTERED,
    PolicyFileError,
    Rule,
    assured,
    read_rules,
)
from service.authz.publishing.demand_table import LEVELS, TABLE, DemandLines, read_table
from service.kernel.account_acts import DEMANDED
from service.kernel.assurance import EVERY_CALLER, INITIAL, SERVICE
from service.settings.sections.policy import Demands

FOLDER: Final = "assurance"
"""The folder of the former files of lines, and of their decision tables."""
FORMER: Final = tuple(f"{FOLDER}/{level}.csv" for level in LEVELS)
"""The former files of lines, by their names in a policy folder."""

_ALWAYS_OPEN: Final = tuple(assured(RESOURCE, name) for name in (NO_SESSION, PREFLIGHT))
_WITHOUT_RESOURCE: Final = (*_ALWAYS_OPEN, assured(RESOURCE, UNREGISTERED))

MAKING_KEYS: Final = assured(ENDPOINT, "POST /api/user/{id}/keys")
"""The demand on making an API key."""

REACHABLE: Final = (
    "POST /api/auth/logout",
    "POST /api/auth/step-up",
    "POST /api/auth/step-up/options",
    "GET /api/user/info",
    "PUT /api/user/profile/password",
    "GET /api/user/profile/factors",
    "POST /api/user/profile/factors/totp",
    "POST /api/user/profile/factors/totp/{id}/confirm",
    "POST /api/user/profile/factors/passkey",
    "POST /api/user/profile/factors/passkey/options",
)
"""Endpoints for logging out, or for a stronger authentication: a login is enough for them.

Enrolling a first factor and changing factors have objects and demands of their own.
"""


def former_files(folder: Path) -> list[Path]:
    """Return the former files of demands that a policy folder has."""
    return [path for path in (folder / name for name in FORMER) if path.exists()]


def levels_of(folder: Path) -> tuple[Demands, ...]:
    """Return the levels that a policy folder has demands for: all, or those with a former file."""
    if (folder / TABLE).exists():
        return LEVELS
    return tuple(level for level in LEVELS if (folder / FOLDER / f"{level}.csv").exists())


def lines_of(folder: Path, level: Demands) -> tuple[str, tuple[Rule, ...]]:
    """Return the place of the demands of ``level`` in a policy folder, for messages, and their lines.

    Raises PolicyError with file, line and reason of every fault. The same if the folder has the table and
    former files: one of them would have no effect.
    """
    table, former = folder / TABLE, former_files(folder)
    if table.exists() and former:
        raise PolicyFileError(
            *(f"{path}: the folder also has {table}: remove one of the two" for path in former)
        )
    if former:
        path = folder / FOLDER / f"{level}.csv"
        return str(path), read_rules(path)
    return f"{table}, column {level}", read_table(table)[level]


def all_lines(folder: Path, shipped: Path) -> DemandLines:
    """Return the demands of all levels; a level without a former file has those of the folder ``shipped``.

    Raises PolicyError as ``lines_of`` does.
    """
    there = levels_of(folder) or LEVELS
    return {level: lines_of(folder if level in there else shipped, level)[1] for level in LEVELS}


def read_demands(folder: Path, level: Demands, endpoints: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the demands of a level; ``endpoints`` are the lines of this service's endpoints.

    Raises PolicyError with every fault: refusals of ``lines_of``; an endpoint or an act without a line; a
    line about something else; a demand on an object without authentication; a demand on ``REACHABLE`` that a
    login does not meet; weaker demands on creating keys than on the endpoints that keys open.
    """
    place, rules = lines_of(folder, level)
    codes = _by_object(rule for rule in endpoints if rule.layer == ENDPOINT)
    words = _by_object(rules)
    known = [
        *_WITHOUT_RESOURCE,
        *(assured(ENDPOINT, name) for name in codes),
        *(assured(ACCOUNT, name) for name in sorted(DEMANDED)),
    ]
    # The existence of the endpoint is compared with the routes, as for its other lines.
    faults = [
        f"{place}: '{rule}' has an object that does not exist here"
        for rule in _strangers(rules, known)
        if not rule.object.startswith(assured(ENDPOINT, ""))
    ]
    faults += (
        f"{place}: '{name}' has no line; write {ANYONE} for no demand" for name in known if name not in words
    )
    faults += (
        f"{place}: '{name}' must only have the line for {ANYONE}, since its callers are not authenticated"
        for name in (*_ALWAYS_OPEN, *(assured(ENDPOINT, name) for name in public(codes)))
        if words.get(name, (ANYONE,)) != (ANYONE,)
    )
    faults += _ways_round(place, words)
    faults += (
        f"{place}: '{name}' must be open to {INITIAL} or {LOGIN}, so that users can authenticate further "
        "or log out"
        for name in (assured(ENDPOINT, name) for name in REACHABLE)
        if name in words and not {ANYONE, INITIAL, LOGIN} & {*words[name]}
    )
    if faults:
        raise PolicyFileError(*faults)
    return rules


def _ways_round(place: str, words: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield the ways by which a key circumvents a demand: its creator need not meet the demand."""
    making = frozenset(words.get(MAKING_KEYS, ()))
    if SERVICE in making:
        yield f"{place}: '{MAKING_KEYS}' must not have a line for {SERVICE}: an API key could create others"
    for name, of in words.items():
        if not name.startswith(assured(ENDPOINT, "")) or SERVICE not in of:
            continue
        if any(making & caller.codes and not caller.codes & {*of} for caller in EVERY_CALLER):
            yield f"{place}: '{MAKING_KEYS}' must not demand less than '{name}', which API keys can call"


def demands_of_extension(path: Path, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the endpoint lines of an extension, and a demand on each of its endpoints.

    ``rules`` are those of its file ``path``. An endpoint without a demand of its own asks for a login, or for
    an API key, and one that is public for nothing. Raises PolicyError for a demand on something else.
    """
    endpoints = tuple(rule for rule in rules if rule.layer == ENDPOINT)
    stated = tuple(rule for rule in rules if rule.layer == ASSURANCE)
    codes = _by_object(endpoints)
    open_to_all = public(codes)
    if strangers := _strangers(stated, [assured(ENDPOINT, name) for name in codes]):
        raise PolicyFileError(
            *(f"{path}: '{rule}' has an endpoint that does not exist" for rule in strangers)
        )
    words = _by_object(stated)
    faults = [
        f"{path}: '{name}' is public, so its callers are not authenticated"
        for name in open_to_all
        if words.get(assured(ENDPOINT, name), (ANYONE,)) != (ANYONE,)
    ]
    if faults:
        raise PolicyFileError(*faults)
    usual = (
        Rule(ASSURANCE, assured(ENDPOINT, name), word)
        for name in codes
        if assured(ENDPOINT, name) not in words
        for word in ((ANYONE,) if name in open_to_all else (LOGIN, SERVICE))
    )
    return (*endpoints, *stated, *usual)


def public(codes: Mapping[str, Collection[str]]) -> list[str]:
    """Return the public endpoints; ``codes`` are those of the lines of each."""
    return [name for name, of in codes.items() if tuple(of) == (ANYONE,)]


def _by_object(rules: Iterable[Rule]) -> dict[str, tuple[str, ...]]:
    codes: dict[str, tuple[str, ...]] = {}
    for rule in rules:
        codes[rule.object] = (*codes.get(rule.object, ()), rule.code)
    return codes


def _strangers(rules: Iterable[Rule], known: Collection[str]) -> list[Rule]:
    objects = frozenset(known)
    return [rule for rule in rules if rule.layer != ASSURANCE or rule.object not in objects]
