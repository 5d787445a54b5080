"""Create the document for auditors from the gathered contents: its sections, in order."""

from collections.abc import Iterator, Sequence

from service import __version__
from service.authz.engine import rules as policy_rules
from service.features.explain.matrix import Matrix, MatrixRow, PassingCell
from service.features.explain.wording import by, demand
from service.features.policy_tests import report_changes as changes
from service.features.policy_tests.report_gathering import Reported
from service.kernel.text import counted
from service.laboratory.analysis.demands import demanded
from service.laboratory.reporting.document import (
    Block,
    Cell,
    Document,
    Form,
    Listing,
    Paragraph,
    Section,
    Table,
    Tone,
    readable_time,
)
from service.web.messages.schema import moment

_ACROSS = 8
"""Roles per table, so that it fits on paper."""


def _role_blocks(reported: Reported) -> Iterator[Block]:
    """Yield the roles, and the tables of roles and requests; a note without a database."""
    if reported.stored is None:
        yield Paragraph("Left out: roles are in the database, and no installation was read.")
        return
    standing = reported.stored.standing
    matrix = Matrix(standing)
    rows = []
    for role in matrix.roles:
        users = sum(number for roles, number in standing.users.items() if role in roles)
        codes = standing.codes[role]
        rows.append((Cell(role, code=True), Cell(str(users)), Cell(codes or "none", code=bool(codes))))
    yield Table(counted(len(rows), "enabled role"), ("Role", "Enabled users", "Codes that it gives"), rows)
    yield Paragraph(
        "What each role passes by itself, as the enforcer decides: “yes” by the code that a line names, "
        "“wildcard” by a code with *, “login” and “anyone” where no code is needed, “no” for a refusal. "
        "Beside that, any one of the words of its authentication is needed. "
        "“portcullis policy who” names the codes and lines."
    )
    requests = [*matrix.rows()]
    for start in range(0, len(matrix.roles), _ACROSS):
        roles = matrix.roles[start : start + _ACROSS]
        part = f", roles {start + 1} to {start + len(roles)}" if len(matrix.roles) > _ACROSS else ""
        yield Table(
            f"{counted(len(requests), 'request')} by role{part}",
            ("Request", "Authentication", *roles),
            [
                (Cell(row.object, code=True), _demanded(row.assurance), *_cells(row, roles))
                for row in requests
            ],
        )


def _demanded(words: Sequence[str]) -> Cell:
    return Cell(demanded(words), code=True)


def _cells(row: MatrixRow, roles: Sequence[str]) -> Iterator[Cell]:
    passing = {cell.role_code: cell for cell in row.roles}
    for role in roles:
        cell = passing.get(role)
        yield Cell("no", tone="muted") if cell is None else Cell(_word(row, cell), tone="good")


def _word(row: MatrixRow, cell: PassingCell) -> str:
    if cell.by:
        return "wildcard" if all("*" in code for code in cell.by) else "yes"
    return "anyone" if row.visitors else "login"


_LAYERS = {
    policy_rules.RESOURCE: "Layer resource: what administrators registered and bound, and public access",
    policy_rules.ENDPOINT: "Layer endpoint: what the code of the service requires",
    policy_rules.GRANT: "Layer grant: codes that their holders may hand out, take away and bind",
    policy_rules.PERMISSION: "Layer permission: codes that other services may ask about",
    policy_rules.SERVICE: "Layer service: the other services, and how their routers read requests",
    policy_rules.ACCOUNT: "Layer account: what callers may do with whose account",
    policy_rules.ASSURANCE: "Layer assurance: how strongly callers must have authenticated",
    policy_rules.REQUEST: "Layer request: eligible requesters of each role",
    policy_rules.APPROVE: "Layer approve: who approves the requests of others, and how many must",
    policy_rules.REVIEW: "Layer review: who decides in reviews who keeps a role",
}


def document(reported: Reported) -> Document:
    """Return the whole report."""
    sections = [
        Section("summary", "Summary", [*_summary(reported)]),
        Section("model", "The model", [*_model(reported)]),
        Section("openings", "Public access", [*_openings(reported)]),
        Section("lines", "The policy lines", [*_lines(reported)]),
        Section("roles", "Roles and requests", [*_role_blocks(reported)]),
        Section("findings", "Findings", [*_findings(reported)]),
        Section("tests", "Tests of the policy", [*_tests(reported)]),
        Section("invariants", "What must stay true", [*_invariants(reported)]),
        Section("changes", "What has changed", [*changes.blocks(reported)]),
        Section("sign-off", "Sign-off", [*_sign_off()]),
    ]
    when = readable_time(moment(reported.made))
    instant = f", as of {readable_time(moment(reported.at))}" if reported.at else ""
    made = f"Made {when} by Portcullis {__version__}, of {reported.source}{instant}."
    return Document("Policy report", made, sections)


def attention(reported: Reported) -> list[str]:
    """Return the points that need an auditor's attention, in a few words each; empty without any."""
    points = []
    if left := sum(finding.accepted is None for finding in reported.linted.findings):
        points.append(f"{counted(left, 'finding')} not accepted")
    if reported.violations:
        points.append(f"{counted(len(reported.violations), 'violation')} of invariants")
    if reported.tested.failures:
        points.append(f"{counted(len(reported.tested.failures), 'failure')} of decision tables")
    elif not reported.tested.passed and not reported.tested.invariants:
        points.append("lines, matcher rows or faults that no decision table notices")
    if reported.stored and reported.stored.drift:
        points.append("the published policy is not what is registered")
    return points


def _summary(reported: Reported) -> Iterator[Block]:
    facts = [
        ("Static policy (model and files)", Cell(reported.shipped.digest, code=True)),
        ("Shipped demands (policy.assurance)", Cell(reported.assurance)),
    ]
    if reported.stored:
        published = reported.stored.published
        facts += [
            ("Revision in force", Cell(f"{published.revision}")),
            ("Published", Cell(f"{readable_time(moment(published.create_time))} {_by(published.user_name)}")),
            ("Cause", Cell(published.cause)),
            *([("Revision at that instant", Cell(f"{reported.policy.revision}"))] if reported.at else []),
            ("Stored policy (database)", Cell(published.digest, code=True)),
            ("Published lines", _as_registered(reported.stored.drift)),
        ]
    yield Table("Subject of this report", ("Policy", "Value"), [(Cell(a), b) for a, b in facts])
    yield Table("Results", ("Question", "Answer"), [(Cell(name), cell) for name, cell in _results(reported)])
    if not reported.stored:
        yield Paragraph(
            "Left out, since no installation was read: registered resources and bindings, roles and users, "
            "the revision in force, changes, findings about them, and invariants about roles. The lines "
            "are those of the files, with nothing registered."
        )
    yield Paragraph(
        "A digest is a SHA-256. “portcullis policy check” prints that of the static policy, GET /api/policy "
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


def _results(reported: Reported) -> Iterator[tuple[str, Cell]]:
    tested, findings = reported.tested, reported.linted.findings
    left = sum(finding.accepted is None for finding in findings)
    failed = len({(failure.place, failure.asked) for failure in tested.failures})
    cases = f"{tested.cases} cases of {tested.tables} tables"
    yield "Decision tables", _good(not failed, f"all {cases} hold", f"{failed} of {cases} fail")
    yield "Coverage", _coverage(reported)
    yield "Mutation score", _score(reported)
    broken = counted(len(reported.violations), "violation")
    unchecked = f"; {len(reported.unchecked)} not checked" if reported.unchecked else ""
    yield "Invariants", _good(not reported.violations, f"all hold{unchecked}", f"{broken}{unchecked}")
    accepted = f"{len(findings) - left} accepted"
    yield "Findings", _good(not left, f"none left, {accepted}", f"{left} not accepted, {accepted}")
    yield "Requests that need no role", Cell(str(len(reported.openings)))


def _good(good: bool, yes: str, no: str) -> Cell:
    return Cell(yes, tone="good") if good else Cell(no, tone="attention")


def _coverage(reported: Reported) -> Cell:
    covered = reported.tested.coverage
    if covered is None:
        return Cell("not measured while tests fail", tone="attention")
    idle = sum(row.state == "idle" for row in covered.rows)
    lines = f"{covered.lines - len(covered.uncovered_lines)} of {covered.lines} lines"
    rows = len(covered.rows) - idle
    summary = f"{lines}, {rows - len(covered.uncovered_rows)} of {rows} matcher rows by layer"
    return _good(not covered.uncovered_lines and not covered.uncovered_rows, summary, summary)


def _score(reported: Reported) -> Cell:
    if reported.tested.mutation is None:
        return Cell("not measured: --mutate measures it", tone="muted")
    score, survivors = reported.tested.mutation.score, len(reported.tested.mutation.survivors)
    return _good(not survivors, f"{score:.1%}", f"{score:.1%}, {counted(survivors, 'survivor')}")


def _model(reported: Reported) -> Iterator[Block]:
    yield Paragraph(
        "Every authorization decision of the service is made by Casbin, from this file and the lines "
        "below. The lines that start with # explain it."
    )
    yield Listing(reported.policy.model_text.strip(), comments=True)


def _openings(reported: Reported) -> Iterator[Block]:
    yield Paragraph(
        "These requests pass without any permission code. All others need one, in at least one of the layers."
    )
    rows = [
        (
            Cell(opening.object, code=True),
            Cell("nothing" if opening.needs == "nothing" else "a login"),
            _demanded(opening.assurance),
            Cell(by(opening.resource), code=True),
            Cell(by(opening.endpoint), code=True),
        )
        for opening in reported.openings
    ]
    head = ("Request", "Needs", "Authentication", "Resource", "Endpoint")
    yield Table(counted(len(rows), "request"), head, rows)


def _lines(reported: Reported) -> Iterator[Block]:
    yield Paragraph(
        "A line is layer, object, code. A request must pass the layers resource and endpoint, and then "
        "both of its objects the layer assurance, whose words say how strongly somebody has "
        "authenticated. If an object has several codes, any one is enough. "
        "@login opens to everybody logged in, @anyone to everybody, @nobody to nobody."
    )
    rules = reported.policy.rules
    for layer in policy_rules.LAYERS:
        rows = [
            (Cell(name, code=True), Cell(rules.codes(layer, name), code=True))
            for name in rules.objects(layer)
        ]
        if rows:
            lines = counted(sum(len(rules.codes(layer, name)) for name in rules.objects(layer)), "line")
            yield Table(f"{_LAYERS[layer]} ({lines})", ("Object", "Codes"), rows)


def _findings(reported: Reported) -> Iterator[Block]:
    findings = reported.linted.findings
    left = [finding for finding in findings if finding.accepted is None]
    accepted = [finding for finding in findings if finding.accepted is not None]
    if not left:
        yield Paragraph("No finding is left to look at.")
    if left:
        rows = [
            (Cell(finding.finding, tone="attention"), Cell(finding.place, code=True), Cell(finding.reason))
            for finding in left
        ]
        yield Table(
            f"{counted(len(rows), 'finding')} not accepted", ("Finding", "Place", "What it says"), rows
        )
    if accepted:
        done = [
            (
                Cell(finding.finding),
                Cell(finding.place, code=True),
                Cell(finding.reason),
                Cell(finding.accepted or ""),
            )
            for finding in accepted
        ]
        head = ("Finding", "Place", "What it says", "Accepted, because")
        yield Table(f"{counted(len(done), 'finding')} accepted", head, done)


def _tests(reported: Reported) -> Iterator[Block]:
    tested = reported.tested
    yield Paragraph(
        f"{counted(tested.cases, 'case')} of {counted(tested.tables, 'decision table')} are asked of the "
        "service's enforcer and of a plain Casbin. A line or matcher row is covered if a case would come "
        "out differently without it. The mutation score is the share of small faults in lines and matcher "
        "that a case or an invariant notices, of those that change a decision at all."
    )
    rows: list[tuple[Cell, ...]]
    if tested.failures:
        rows = [
            (
                Cell(failure.place, code=True),
                Cell(failure.asked),
                Cell(failure.enforcer),
                Cell(failure.reasons),
            )
            for failure in tested.failures
        ]
        yield Table("Cases that fail", ("Place", "Case", "Enforcer", "What differs"), rows)
    if tested.coverage:
        tones: dict[str, Tone] = {"covered": "good", "uncovered": "attention", "idle": "muted"}
        words = {"covered": "covered", "uncovered": "not covered", "idle": "can allow nothing here"}
        by_row: dict[str, dict[str, str]] = {}
        for row in tested.coverage.rows:
            by_row.setdefault(row.row, {})[row.layer] = row.state
        rows = [
            (
                Cell(name, code=True),
                *(Cell(words[of[layer]], tone=tones[of[layer]]) for layer in policy_rules.LAYERS),
            )
            for name, of in by_row.items()
        ]
        yield Table("Matcher rows, by layer", ("Row", *policy_rules.LAYERS), rows)
        if tested.coverage.uncovered_lines:
            lines = [(Cell(line, code=True, tone="attention"),) for line in tested.coverage.uncovered_lines]
            yield Table("Lines that no case depends on", ("Line",), lines)
    if tested.mutation:
        tallies = [
            (
                Cell(tally.kind),
                Cell(str(tally.mutants)),
                Cell(str(tally.killed)),
                Cell(str(tally.equivalent)),
                Cell(str(tally.mutants - tally.killed - tally.equivalent)),
            )
            for tally in tested.mutation.tallies
        ]
        head = ("Fault", "Made", "Noticed", "Change no decision", "Unnoticed")
        yield Table(f"Mutation score {tested.mutation.score:.1%}", head, tallies)
        for survivor in tested.mutation.survivors:
            yield Paragraph(f"Unnoticed: {survivor.mutant}")
            if survivor.case is not None:
                yield Paragraph("This case would notice it:")
                yield Listing(survivor.case)


def _invariants(reported: Reported) -> Iterator[Block]:
    yield Paragraph(
        "These statements are checked in each change of the policy, of roles and of users, before it is "
        "saved. Statements about holders of codes are checked for every possible caller."
    )
    rows = []
    for statement in reported.shipped.invariants.statements:
        broken = [violation.finding for violation in reported.violations if violation.statement == statement]
        if statement.name in reported.unchecked:
            holds = Cell("not checked: needs a database", tone="muted")
        else:
            holds = Cell(broken, tone="attention") if broken else Cell("holds", tone="good")
        rows.append((Cell(statement.name), Cell(demand(statement)), Cell(statement.reason), holds))
    yield Table(counted(len(rows), "statement"), ("Name", "Statement", "Reason", "Result"), rows)


def _sign_off() -> Iterator[Block]:
    yield Paragraph(
        "Compare the digests of the summary with those of the installation. Then read each section that "
        "the summary marks, and each accepted finding with its reason."
    )
    yield Form(("Reviewed by", "Date", "Result", "Signature"))
