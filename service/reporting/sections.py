"""Turns what was gathered into the document that an auditor reads: its sections, in their order."""

from __future__ import annotations

from collections.abc import Iterator

from service import __version__
from service.authz.engine.rules import ACCOUNT, ENDPOINT, GRANT, LAYERS, PERMISSION, RESOURCE, SERVICE
from service.kernel.text import counted
from service.reporting import changes, matrix
from service.reporting.document import (
    Block,
    Cell,
    Document,
    Form,
    Listing,
    Paragraph,
    Section,
    Table,
    Tone,
    told_time,
)
from service.reporting.gathering import Reported
from service.reporting.passages import by
from service.reporting.statements import said
from service.web.messages.schema import moment

_LAYERS = {
    RESOURCE: "Layer resource: what administrators registered and bound, and the openings",
    ENDPOINT: "Layer endpoint: what the code of the service requires",
    GRANT: "Layer grant: codes that their holders may hand out, take away and bind",
    PERMISSION: "Layer permission: codes that other services may ask about",
    SERVICE: "Layer service: the other services, and how their routers read requests",
    ACCOUNT: "Layer account: what callers may do with whose account",
}


def document(found: Reported) -> Document:
    """Return the whole report."""
    sections = [
        Section("summary", "Summary", [*_summary(found)]),
        Section("model", "The model", [*_model(found)]),
        Section("openings", "What needs no role", [*_openings(found)]),
        Section("lines", "The policy lines", [*_lines(found)]),
        Section("roles", "Roles and requests", [*matrix.blocks(found)]),
        Section("findings", "Findings", [*_findings(found)]),
        Section("tests", "Tests of the policy", [*_tests(found)]),
        Section("invariants", "What must stay true", [*_invariants(found)]),
        Section("changes", "What has changed", [*changes.blocks(found)]),
        Section("sign-off", "Sign-off", [*_sign_off()]),
    ]
    when = told_time(moment(found.made))
    source = "files and the database" if found.stored else "files only"
    return Document("Policy report", f"Made {when} by Portcullis {__version__}, of {source}.", sections)


def attention(found: Reported) -> list[str]:
    """Return what an auditor has to look at, some words each; empty if everything is in order."""
    told = []
    if left := sum(one.accepted is None for one in found.linted.findings):
        told.append(f"{counted(left, 'finding')} not accepted")
    if found.violations:
        told.append(f"{counted(len(found.violations), 'violation')} of invariants")
    if found.tested.failures:
        told.append(f"{counted(len(found.tested.failures), 'failure')} of decision tables")
    elif not found.tested.passed and not found.tested.invariants:
        told.append("lines, matcher rows or faults that no decision table notices")
    if found.stored and found.stored.drift:
        told.append("the published policy is not what is registered")
    return told


def _summary(found: Reported) -> Iterator[Block]:
    facts = [("Own part (model and files)", Cell(found.shipped.digest, code=True))]
    if found.stored:
        published = found.stored.published
        facts += [
            ("Revision in force", Cell(f"{published.revision}")),
            ("Published", Cell(f"{told_time(moment(published.create_time))} {_by(published.user_name)}")),
            ("Cause", Cell(published.cause)),
            ("Shared part (database)", Cell(published.digest, code=True)),
            ("Published lines", _as_registered(found.stored.drift)),
        ]
    yield Table("What this report is about", ("Of the policy", "Value"), [(Cell(a), b) for a, b in facts])
    yield Table("Results", ("Question", "Answer"), [(Cell(name), cell) for name, cell in _results(found)])
    if not found.stored:
        yield Paragraph(
            "Left out, since no database was named: registered resources and bindings, roles and users, "
            "the revision in force, changes, findings about them, and invariants about roles. The lines "
            "are those of the files, with nothing registered."
        )
    yield Paragraph(
        "A digest is a SHA-256. “portcullis policy check” prints that of the own part, and GET /api/policy "
        "answers both: compare them with those of the installation that is audited."
    )


def _as_registered(drift: str | None) -> Cell:
    return (
        Cell(drift, tone="attention")
        if drift
        else Cell("as resources, bindings and Buttons give them", tone="good")
    )


def _by(user_name: str | None) -> str:
    return "by a start or a command" if user_name is None else f"by {user_name}"


def _results(found: Reported) -> Iterator[tuple[str, Cell]]:
    tested, findings = found.tested, found.linted.findings
    left = sum(one.accepted is None for one in findings)
    failed = len({(one.place, one.asked) for one in tested.failures})
    cases = f"{tested.cases} cases of {tested.tables} tables"
    yield "Decision tables", _good(not failed, f"all {cases} hold", f"{failed} of {cases} fail")
    yield "Coverage", _coverage(found)
    yield "Mutation score", _score(found)
    broken = counted(len(found.violations), "violation")
    unchecked = f"; {len(found.unchecked)} not checked" if found.unchecked else ""
    yield "Invariants", _good(not found.violations, f"all hold{unchecked}", f"{broken}{unchecked}")
    accepted = f"{len(findings) - left} accepted"
    yield "Findings", _good(not left, f"none left, {accepted}", f"{left} not accepted, {accepted}")
    yield "Requests that need no role", Cell(str(len(found.openings)))


def _good(good: bool, yes: str, no: str) -> Cell:
    return Cell(yes, tone="good") if good else Cell(no, tone="attention")


def _coverage(found: Reported) -> Cell:
    covered = found.tested.coverage
    if covered is None:
        return Cell("not measured while tests fail", tone="attention")
    idle = sum(row.state == "idle" for row in covered.rows)
    lines = f"{covered.lines - len(covered.uncovered_lines)} of {covered.lines} lines"
    rows = len(covered.rows) - idle
    told = f"{lines}, {rows - len(covered.uncovered_rows)} of {rows} matcher rows by layer"
    return _good(not covered.uncovered_lines and not covered.uncovered_rows, told, told)


def _score(found: Reported) -> Cell:
    if found.tested.mutation is None:
        return Cell("not measured: --mutate measures it", tone="muted")
    score, survivors = found.tested.mutation.score, len(found.tested.mutation.survivors)
    return _good(not survivors, f"{score:.1%}", f"{score:.1%}, {counted(survivors, 'survivor')}")


def _model(found: Reported) -> Iterator[Block]:
    yield Paragraph(
        "Every authorization decision of the service is made by Casbin, from this file and the lines "
        "below. The lines that start with # explain it."
    )
    yield Listing(found.policy.model_text.strip(), comments=True)


def _openings(found: Reported) -> Iterator[Block]:
    yield Paragraph(
        "These requests pass without any permission code. All others need one, in at least one of the layers."
    )
    rows = [
        (
            Cell(one.object, code=True),
            Cell("nothing" if one.needs == "nothing" else "a login"),
            Cell(by(one.resource), code=True),
            Cell(by(one.endpoint), code=True),
        )
        for one in found.openings
    ]
    yield Table(counted(len(rows), "request"), ("Request", "Needs", "Resource", "Endpoint"), rows)


def _lines(found: Reported) -> Iterator[Block]:
    yield Paragraph(
        "A line is layer, object, code. A request must pass the layers resource and endpoint. Of several "
        "codes for one object, any one is enough. @login opens to everybody logged in, @anyone to "
        "everybody, @nobody to nobody."
    )
    rules = found.policy.rules
    for layer in LAYERS:
        rows = [
            (Cell(name, code=True), Cell(rules.codes(layer, name), code=True))
            for name in rules.objects(layer)
        ]
        if rows:
            lines = counted(sum(len(rules.codes(layer, name)) for name in rules.objects(layer)), "line")
            yield Table(f"{_LAYERS[layer]} ({lines})", ("Object", "Codes"), rows)


def _findings(found: Reported) -> Iterator[Block]:
    findings = found.linted.findings
    left = [one for one in findings if one.accepted is None]
    accepted = [one for one in findings if one.accepted is not None]
    if not left:
        yield Paragraph("No finding is left to look at.")
    if left:
        rows = [
            (Cell(one.finding, tone="attention"), Cell(one.place, code=True), Cell(one.reason))
            for one in left
        ]
        yield Table(
            f"{counted(len(rows), 'finding')} not accepted", ("Finding", "Place", "What it says"), rows
        )
    if accepted:
        done = [
            (Cell(one.finding), Cell(one.place, code=True), Cell(one.reason), Cell(one.accepted or ""))
            for one in accepted
        ]
        head = ("Finding", "Place", "What it says", "Accepted, because")
        yield Table(f"{counted(len(done), 'finding')} accepted", head, done)


def _tests(found: Reported) -> Iterator[Block]:
    tested = found.tested
    yield Paragraph(
        f"{counted(tested.cases, 'case')} of {counted(tested.tables, 'decision table')} are asked of the "
        "service's enforcer and of a plain Casbin. A line or matcher row is covered if a case would come "
        "out differently without it. The mutation score is the share of small faults in lines and matcher "
        "that a case or an invariant notices, of those that change a decision at all."
    )
    rows: list[tuple[Cell, ...]]
    if tested.failures:
        rows = [
            (Cell(one.place, code=True), Cell(one.asked), Cell(one.enforcer), Cell(one.reasons))
            for one in tested.failures
        ]
        yield Table("Cases that fail", ("Place", "Case", "Enforcer", "What differs"), rows)
    if tested.coverage:
        tones: dict[str, Tone] = {"covered": "good", "uncovered": "attention", "idle": "muted"}
        words = {"covered": "covered", "uncovered": "not covered", "idle": "can allow nothing here"}
        by_row: dict[str, dict[str, str]] = {}
        for row in tested.coverage.rows:
            by_row.setdefault(row.row, {})[row.layer] = row.state
        rows = [
            (Cell(name, code=True), *(Cell(words[of[layer]], tone=tones[of[layer]]) for layer in LAYERS))
            for name, of in by_row.items()
        ]
        yield Table("Matcher rows, by layer", ("Row", *LAYERS), rows)
        if tested.coverage.uncovered_lines:
            lines = [(Cell(line, code=True, tone="attention"),) for line in tested.coverage.uncovered_lines]
            yield Table("Lines that no case depends on", ("Line",), lines)
    if tested.mutation:
        tallies = [
            (
                Cell(one.kind),
                Cell(str(one.mutants)),
                Cell(str(one.killed)),
                Cell(str(one.equivalent)),
                Cell(str(one.mutants - one.killed - one.equivalent)),
            )
            for one in tested.mutation.tallies
        ]
        head = ("Fault", "Made", "Noticed", "Change no decision", "Unnoticed")
        yield Table(f"Mutation score {tested.mutation.score:.1%}", head, tallies)
        for survivor in tested.mutation.survivors:
            yield Paragraph(f"Unnoticed: {survivor.mutant}")
            if survivor.case is not None:
                yield Paragraph("This case would notice it:")
                yield Listing(survivor.case)


def _invariants(found: Reported) -> Iterator[Block]:
    yield Paragraph(
        "These statements are checked in each change of the policy, of roles and of users, before it is "
        "saved. What is said of holders of codes is checked for every possible caller."
    )
    rows = []
    for one in found.shipped.invariants.statements:
        broken = [violation.finding for violation in found.violations if violation.statement == one]
        if one.name in found.unchecked:
            holds = Cell("not checked: needs a database", tone="muted")
        else:
            holds = Cell(broken, tone="attention") if broken else Cell("holds", tone="good")
        rows.append((Cell(one.name), Cell(said(one)), Cell(one.reason), holds))
    yield Table(counted(len(rows), "statement"), ("Name", "Statement", "Reason", "Result"), rows)


def _sign_off() -> Iterator[Block]:
    yield Paragraph(
        "Compare the digests of the summary with those of the installation. Then read each section that "
        "the summary marks, and each accepted finding with its reason."
    )
    yield Form(("Reviewed by", "Date", "Result", "Signature"))
