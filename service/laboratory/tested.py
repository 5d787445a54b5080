"""Tests a policy: its decision tables, its invariants, and the lines that the tables depend on.

Paths are shown as the operator sees them.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from service.authz.engine.lines import Lines
from service.authz.engine.rules import (
    APPROVE,
    ENDPOINT,
    GRANT,
    LAYERS,
    PERMISSION,
    REQUEST,
    RESOURCE,
    LayerName,
    Rule,
)
from service.authz.publishing.contributions import contributions
from service.authz.publishing.demands import FOLDER, levels_of
from service.authz.publishing.shipped import Shipped, policy_folder, read_named
from service.kernel.extension import CASES
from service.kernel.permission_catalogue import Page, permissions
from service.kernel.request_objects import ask, stage_for, stage_takes
from service.laboratory.invariants.checking import check
from service.laboratory.mutation import Bench, Coverage, Mutation
from service.laboratory.strict_yaml import Document
from service.laboratory.table_run import Failure, run_tables
from service.laboratory.tables import (
    Asks,
    Case,
    Requestable,
    Stage,
    Table,
    TableFile,
    file_kind,
    read_tables,
    table_of,
)
from service.settings import Settings
from service.settings.sections.policy import Demands

CATALOGUE_TABLE: Final = Path("catalogue")
"""The name that stands for a file in the cases of this table."""

DEMAND_CASES: Final = f"{FOLDER}.yaml"
"""The table of demands, in a policy folder."""

_NOBODY: Final = "newcomer"
_FIELD: Final = re.compile(r"\{\w+\}")


def catalogue_cases(pages: Iterable[Page], opened_by: Mapping[str, Collection[str]]) -> Document[TableFile]:
    """Return the decision table of all codes of ``pages`` and of the endpoints that each code opens.

    It tests each code in each layer with each kind of held code, as in an installation whose resources
    ``portcullis policy sync`` has registered. So an exception in the matcher for one code, layer and kind of
    held code fails a case. The expectations come only from the catalogue: lines and enforcer would always
    agree with themselves.
    """
    pages = tuple(pages)
    codes = sorted(permissions(pages))
    opened = {endpoint: sorted(each) for endpoint, each in opened_by.items()}
    # A code that opens no endpoint may still open a resource of another service.
    bound = {
        f"GET /catalogue/{code.replace(':', '-')}": [code]
        for code in codes
        if not any(code in each for each in opened.values())
    }
    holders = {
        "exact": codes,
        "everything": ["*"],
        "subtree": sorted({f"{code.partition(':')[0]}:*" for code in codes}),
        "pattern": sorted({":".join([code.partition(":")[0], *["*"] * code.count(":")]) for code in codes}),
    }
    roles = {code.replace(":", "-"): code for code in codes}
    cases = [
        *_requests(opened, [*holders]),
        *_bound(bound, [*holders]),
        *_codes(codes, [*holders]),
        *_asking(roles, [*holders]),
        *_contributed(codes, [*holders]),
    ]
    contributed: dict[str, Any] = {each.word: [*codes] for each in contributions()}
    table = file_kind()(
        {_NOBODY: [], **holders},
        cases,
        registered={name: [*each] for name, each in (opened | bound).items()},
        codes=[*codes],
        requestable={role: Requestable(code, [Stage(code)]) for role, code in roles.items()},
        **contributed,
    )
    return Document(CATALOGUE_TABLE, table, {}, "")


def _requests(opened: dict[str, list[str]], holders: list[str]) -> Iterator[Case]:
    """Yield who passes each endpoint; both layers are asked."""
    for endpoint, codes in opened.items():
        request = _FIELD.sub("7", endpoint)
        line, through = (str(Rule(layer, endpoint, codes[0])) for layer in (ENDPOINT, RESOURCE))
        yield Case(holders, request, "allow", ENDPOINT, line=line, through=through)
        yield Case(_NOBODY, request, "deny", RESOURCE, required=codes)


def _bound(bound: dict[str, list[str]], holders: list[str]) -> Iterator[Case]:
    """Yield the callers who pass resources, each bound to the Button of one of the other codes."""
    for name, (code,) in bound.items():
        asks = Asks(RESOURCE, name)
        yield Case(holders, asks, "allow", RESOURCE, line=str(Rule(RESOURCE, name, code)))
        yield Case(_NOBODY, asks, "deny", RESOURCE, required=[code])


def _codes(codes: list[str], holders: list[str]) -> Iterator[Case]:
    """Yield the callers who may grant each code, and those with the permission itself."""
    for code in codes:
        for layer in (GRANT, PERMISSION):
            asks = Asks(layer, code)
            yield Case(holders, asks, "allow", layer, line=str(Rule(layer, code, code)))
            yield Case(_NOBODY, asks, "deny", layer, required=[code])


def _asking(roles: dict[str, str], holders: list[str]) -> Iterator[Case]:
    """Yield the callers who may request a role opened by each code, and approve requests of others for it."""
    for role, code in roles.items():
        asked: tuple[tuple[LayerName, str], ...] = (
            (REQUEST, ask(role)),
            (APPROVE, stage_for(role, 1, "others")),
        )
        for layer, name in asked:
            yield Case(holders, Asks(layer, name), "allow", layer, line=str(Rule(layer, name, code)))
            yield Case(_NOBODY, Asks(layer, name), "deny", layer, required=[code])
        closed = [stage_for(role, 1, "self"), stage_takes(role, 1, 1)]
        yield Case([_NOBODY, *holders], Asks(APPROVE, closed), "deny", APPROVE, required=[])


def _contributed(codes: list[str], holders: list[str]) -> Iterator[Case]:
    """Yield the rights that lines of features give to holders of each code, such as deciding in a review."""
    for contribution in contributions():
        layer = cast("LayerName", contribution.layer)
        for code in codes:
            for name, (opener,) in contribution.lines([code]).items():
                asks = Asks(layer, name)
                yield Case(holders, asks, "allow", layer, line=str(Rule(layer, name, opener)))
                yield Case(_NOBODY, asks, "deny", layer, required=[opener])


class Tested(msgspec.Struct, frozen=True, rename="camel"):
    """The result; ``coverage`` and ``mutation`` are None unless requested, and while a case fails.

    ``invariants`` are the broken ones; ``unchecked`` are those about roles, which no file holds.
    ``unmeasured``: coverage or mutants were requested, but are meaningless while a case fails. ``beside`` are
    the unused levels of demands whose tables and invariants were tested too.
    """

    passed: bool
    tables: int
    cases: int
    failures: tuple[Failure, ...]
    invariants: tuple[str, ...]
    unchecked: tuple[str, ...]
    unmeasured: bool
    coverage: Coverage | None
    mutation: Mutation | None
    beside: tuple[str, ...] = ()


def own_tables(own: Shipped, folders: Iterable[Path]) -> tuple[Table, ...]:
    """Return the tables of a policy's own ``folders``, and the table made from its catalogue of codes.

    Raises PolicyError for unreadable tables.
    """
    return (*read_tables(folders, own), table_of(catalogue_cases(own.catalogue, own.opened_by), own))


def table_places(folder: Path, level: Demands) -> list[Path]:
    """Return the paths of the tables in a policy folder: those of all levels, then those of the demands.

    A folder of a development version has a table for each level, such as ``assurance/base.yaml``.
    """
    demands = (folder / DEMAND_CASES, folder / FOLDER / f"{level}.yaml")
    return [folder / CASES, *(path for path in demands if path.exists())]


def demand_levels(settings: Settings) -> tuple[Demands, ...]:
    """Return the levels with demands in the folder of ``settings``, the used one first."""
    used = settings.policy.assurance
    there = levels_of(policy_folder(settings.policy.folder))
    return (used, *(level for level in there if level != used))


def run_tests(own: Shipped, tables: Sequence[Table], *, coverage: bool, mutate: bool) -> Tested:
    """Test the policy with the static policy ``own`` by ``tables`` and by its invariants."""
    failures = run_tables(own.model_text, tables)
    checked = check(own.invariants, own.policy(Lines(), {}, 0))
    broken = tuple(map(str, checked.violations))
    covered, mutation = None, None
    measured = coverage or mutate
    unmeasured = measured and bool(failures or broken)
    if measured and not unmeasured:
        bench = Bench(own, tables, lambda rules: _breaks(own, rules))
        covered = bench.coverage() if coverage else None
        mutation = bench.mutation() if mutate else None
    passed = not (
        failures
        or broken
        or (covered and (covered.uncovered_lines or covered.uncovered_rows))
        or (mutation and mutation.survivors)
    )
    cases = sum(len(table.asked) for table in tables)
    unchecked = tuple(statement.name for statement in checked.unchecked)
    return Tested(
        passed, len(tables), cases, tuple(failures), broken, unchecked, unmeasured, covered, mutation
    )


def _breaks(own: Shipped, rules: Collection[Rule]) -> bool:
    """True if an invariant of ``own`` does not hold with ``rules`` as the lines of its files."""
    endpoints = tuple(rule for rule in rules if rule.layer == ENDPOINT)
    rest = tuple(rule for rule in rules if rule.layer != ENDPOINT)
    other = replace(own, base=rest, endpoints=endpoints, accounts=(), assurance=())
    return bool(check(own.invariants, other.policy(Lines(), {}, 0)).violations)


def as_lines(tested: Tested) -> Iterator[str]:
    """Yield ``tested`` as lines for people, one finding per line."""
    yield from map(str, tested.failures)
    failed = len({(failure.place, failure.asked) for failure in tested.failures})
    holding = f"{failed} fail" if failed else "all hold"
    yield f"{tested.cases} cases of {tested.tables} tables, by both enforcers: {holding}."
    if tested.beside:
        yield f"The cases were also run with the unused demand levels {' and '.join(tested.beside)}."
    yield from (f"invariant broken: {fault}" for fault in tested.invariants)
    if not tested.invariants:
        left = f"; {len(tested.unchecked)} are about roles, and need a database" if tested.unchecked else ""
        yield f"No invariant is broken{left}."
    if tested.unmeasured:
        yield "Coverage and mutants are tested only if all cases and invariants hold."
    if tested.coverage:
        yield from _covered(tested.coverage)
    if tested.mutation:
        yield from _mutated(tested.mutation)


def _covered(coverage: Coverage) -> Iterator[str]:
    yield from (f"no case depends on the line '{line}'" for line in coverage.uncovered_lines)
    for row in coverage.uncovered_rows:
        yield f"no case depends on the row {row.row} in the layer {row.layer}"
    yield f"Cases depend on {coverage.lines - len(coverage.uncovered_lines)} of {coverage.lines} lines."
    for layer in LAYERS:
        rows = [row for row in coverage.rows if row.layer == layer]
        covered = sum(row.state == "covered" for row in rows)
        idle = [row.row for row in rows if row.state == "idle"]
        if len(idle) == len(rows):
            continue
        named = " and ".join(filter(None, (", ".join(idle[:-1]), *idle[-1:])))
        note = f"; {named} can't allow anything there" if idle else ""
        yield f"Cases depend on {covered} of {len(rows) - len(idle)} matcher rows in the layer {layer}{note}."


def _mutated(mutation: Mutation) -> Iterator[str]:
    yield from map(str, mutation.survivors)
    for tally in mutation.tallies:
        lost = tally.mutants - tally.killed - tally.equivalent
        ends = f"{tally.killed} killed, {tally.equivalent} equivalent, {lost} survive"
        yield f"{tally.mutants} mutants with {tally.kind}: {ends}."
    yield f"Mutation score: {mutation.score:.1%}."


def tested(settings: Settings, paths: Sequence[str], *, coverage: bool, mutate: bool) -> Tested:
    """Return the result of the tables of ``paths``, or of the policy's own; PolicyError if unreadable."""
    folder, used = near(policy_folder(settings.policy.folder)), settings.policy.assurance
    own = read_named(settings, folder, assurance=used)
    if paths:
        tables = read_tables([near(Path(path)) for path in paths], own)
        return run_tests(own, tables, coverage=coverage, mutate=mutate)
    tables = own_tables(own, [*table_places(folder, used), *own.cases_of_extensions])
    result = run_tests(own, tables, coverage=coverage, mutate=mutate)
    for level in demand_levels(settings)[1:]:
        result = _beside(result, settings, folder, level)
    return result


def _beside(result: Tested, settings: Settings, folder: Path, level: Demands) -> Tested:
    """Return ``result`` with the result of the unused demand level ``level``.

    Its tables run only with the service's enforcer: the level in use shows that both enforcers agree.
    """
    own = read_named(settings, folder, assurance=level)
    failures = run_tables(own.model_text, read_tables(table_places(folder, level)[1:], own), ("indexed",))
    broken = map(str, check(own.invariants, own.policy(Lines(), {}, 0)).violations)
    invariants = tuple(dict.fromkeys((*result.invariants, *broken)))
    return msgspec.structs.replace(
        result,
        passed=result.passed and not failures and invariants == result.invariants,
        beside=(*result.beside, level),
        failures=(*result.failures, *failures),
        invariants=invariants,
    )


def near(path: Path) -> Path:
    """Return ``path`` relative to the working directory if it is below it, else as it is."""
    absolute = path.absolute()
    return absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else path
