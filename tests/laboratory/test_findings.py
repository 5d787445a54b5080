"""What ``portcullis policy lint`` finds in resources, bindings, codes and roles, without a database."""

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from service.authz.engine.coverage import losing
from service.authz.engine.lines import Lines
from service.authz.engine.rules import PolicyError, Rule
from service.authz.publishing.demand_table import LEVELS
from service.authz.publishing.derive import derive
from service.authz.publishing.shipped import Shipped, read_shipped
from service.kernel.assurance import Acr
from service.kernel.services import BoundResource, Service
from service.laboratory.analysis.impact import Roles, Standing
from service.laboratory.findings import file_findings, menu_findings, request_findings, stored_findings
from service.laboratory.findings.findings import Finding, read_accepted
from service.laboratory.findings.stored_findings import StoredResource, unmet_demands
from service.laboratory.invariants.reading import read_invariants
from service.settings.sections.policy import Demands
from tests.docs.pages import between
from tests.policies.stock import POLICIES, SHIPPED
from tests.support.cases import with_each

OWN = Shipped(
    SHIPPED.model_text,
    SHIPPED.base,
    (
        Rule("endpoint", "POST /login", "@anyone"),
        Rule("endpoint", "GET /mine", "@login"),
        Rule("endpoint", "GET /user/list", "user:list"),
        Rule("endpoint", "GET /user/{id}", "user:read"),
    ),
)
NAMES = ("GET /mine", "GET /user/list", "GET /user/{id}")
ROLES = {"root": ("*",), "lister": ("user:list",), "reader": ("user:read",)}
BOUND = {"GET /mine": ("user:list",), "GET /user/list": ("user:list",), "GET /user/{id}": ("user:read",)}


def findings_of(
    bound: Mapping[str, tuple[str, ...]] = BOUND,
    roles: Mapping[str, tuple[str, ...]] = ROLES,
    users: Mapping[Roles, int] | None = None,
    disabled_resources: tuple[str, ...] = (),
) -> set[tuple[str, str]]:
    """Return code and place of the findings; a Button's code that starts with ``-`` is disabled."""
    resources = [
        StoredResource(
            name, name not in disabled_resources, tuple((code.lstrip("-"), code[0] != "-") for code in codes)
        )
        for name, codes in bound.items()
    ]
    enabled = [
        BoundResource(resource.name.partition(" ")[0], resource.name.partition(" ")[2], resource.buttons)
        for resource in resources
        if resource.enabled
    ]
    standing = Standing(OWN.policy(derive(enabled), {}, 1), roles, users or {})
    return {
        (stored_finding.finding, stored_finding.place)
        for stored_finding in stored_findings.stored_findings(standing, resources)
    }


def test_a_service_that_is_named_like_our_own_codes_begin_is_a_finding() -> None:
    services = [Service(name) for name in ("orders", "system", "user")]
    standing = Standing(OWN.policy(derive([], services=services), {}, 1), {}, {})
    looked = stored_findings.stored_findings(standing, ())
    assert [finding.place for finding in looked if finding.finding == "service-named-like-own-codes"] == [
        "system",
        "user",
    ]


OVERLAPPING = {("resource-takes-requests", "GET /user/list")}


def test_resources_that_fit_routes_bindings_and_roles_have_one_finding_for_the_overlap() -> None:
    assert findings_of() == OVERLAPPING


@with_each(
    ("more", "finding"),
    [
        ({"GET /report": ("user:list",)}, ("resource-without-route", "GET /report")),
        ({"GET /user/7": ("user:read",)}, ("resource-takes-requests", "GET /user/7")),
        ({"GET /mine": ()}, ("resource-open", "GET /mine")),
        ({"GET /mine": ("user:list", "-old:code")}, ("binding-to-disabled-button", "GET /mine old:code")),
        ({"GET /mine": ("-user:list",)}, ("request-closed", "GET /mine")),
        ({"GET /user/list": ("user:read",)}, ("binding-contradicts-endpoint", "GET /user/list")),
        ({"GET /mine": ("user:list", "user:own")}, ("code-held-by-nobody", "user:own")),
    ],
)
def test_a_fault_of_resources_and_bindings_is_named(
    more: dict[str, tuple[str, ...]], finding: tuple[str, str]
) -> None:
    assert finding not in findings_of()
    assert finding in findings_of({**BOUND, **more})


def test_a_shadowed_resource_is_named() -> None:
    """A literal path takes requests from the resource that guarded them."""
    assert ("resource-takes-requests", "GET /user/7") in findings_of({**BOUND, "GET /user/7": ()})


def test_a_route_that_nothing_registers_is_named_also_where_a_resource_is_disabled() -> None:
    without = {name: codes for name, codes in BOUND.items() if name != "GET /mine"}

    assert findings_of(without) == {*OVERLAPPING, ("route-unregistered", "GET /mine")}
    assert ("route-unregistered", "GET /mine") not in findings_of(disabled_resources=("GET /mine",))
    assert ("route-unregistered", "POST /login") not in findings_of(without)


@with_each(
    ("roles", "finding"),
    [
        ({"lister": ("user:*",)}, ("code-held-by-wildcards-only", "user:list")),
        ({"lister": ()}, ("code-held-by-nobody", "user:list")),
        ({"copy": ("user:read",)}, ("roles-equal", "copy reader")),
        ({"boss": ("user:*",)}, ("role-contains-role", "boss reader")),
        ({"both": ("user:read", "user:list")}, ("role-contains-role", "both lister")),
    ],
)
def test_a_fault_of_roles_is_named(roles: dict[str, tuple[str, ...]], finding: tuple[str, str]) -> None:
    assert finding not in findings_of()
    assert finding in findings_of(roles={**ROLES, **roles})


def test_a_user_with_two_roles_may_pass_both_layers_so_that_nothing_contradicts() -> None:
    bound = {**BOUND, "GET /user/list": ("user:read",)}

    assert ("binding-contradicts-endpoint", "GET /user/list") in findings_of(bound)
    assert ("binding-contradicts-endpoint", "GET /user/list") not in findings_of(
        bound, users={("lister", "reader"): 1}
    )


def test_overlaps_of_thousands_of_resources_are_those_of_comparing_each_with_each() -> None:
    segments = ("a", "b", "{x}")
    paths = ["/" + "/".join(parts) for parts in product(segments, repeat=3)]
    names = [f"{method} {path}" for method in ("GET", "PUT") for path in paths]

    overlaps = {
        (finding.place, finding.reason)
        for finding in stored_findings.stored_findings(
            Standing(OWN.policy(Lines(), {}, 1), {}, {}), [StoredResource(name, True, ()) for name in names]
        )
        if finding.finding == "resource-takes-requests"
    }

    assert overlaps == {
        (
            f"{method} {path}",
            f"it takes requests from {method} {other}, whose bindings no longer apply to them",
        )
        for method in ("GET", "PUT")
        for path in paths
        for other in losing(path, [candidate for candidate in paths if candidate != path])
    }
    assert len(overlaps) > 40


def test_a_role_that_an_invariant_names_and_nobody_made_is_named(tmp_path: Path) -> None:
    stated = tmp_path / "invariants.yaml"
    stated.write_text(
        "statements: [{name: deleters, reason: x, only_roles: [reader, boss], reach: [GET /mine]}]", "utf-8"
    )
    standing = Standing(OWN.policy(Lines(), {}, 1), ROLES, {})

    findings = stored_findings.stored_findings(standing, [], read_invariants([stated]))

    assert ("invariant-about-unknown-role", f"{stated}:1", "deleters: there is no role boss") in [
        (finding.finding, finding.place, finding.reason) for finding in findings
    ]
    assert "there is no role reader" not in str(findings)


def accepted(folder: Path, text: str) -> list[Finding]:
    path = folder / "accepted.yaml"
    path.write_text(text)
    findings = [
        Finding("resource-open", "GET /a", "it is open"),
        Finding("resource-open", "GET /b", "it is open"),
    ]
    codes = ("resource-open", "roles-equal", "public-change")
    return read_accepted([path], codes).applied(findings, ("resource-open", "public-change"))


ENTRY = "accepted:\n  - {finding: resource-open, place: GET /a, reason: meant}\n"


def test_an_acceptance_gives_its_reason_to_the_finding_of_its_place(tmp_path: Path) -> None:
    assert [finding.accepted for finding in accepted(tmp_path, ENTRY)] == ["meant", None]


def test_a_star_accepts_all_places_of_a_pattern(tmp_path: Path) -> None:
    assert [finding.accepted for finding in accepted(tmp_path, ENTRY.replace("GET /a", "GET /*"))] == [
        "meant"
    ] * 2


def test_an_acceptance_that_accepts_nothing_is_a_finding_unless_nobody_looked_for_it(tmp_path: Path) -> None:
    more = "  - {finding: public-change, place: POST /x, reason: meant}\n"
    other = "  - {finding: roles-equal, place: a b, reason: meant}\n"

    stale = [
        finding
        for finding in accepted(tmp_path, ENTRY + more + other)
        if finding.place.startswith(str(tmp_path))
    ]

    assert [(finding.finding, finding.accepted) for finding in stale] == [
        ("acceptance-without-finding", None)
    ]
    assert stale[0].place.endswith("accepted.yaml:3")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            ENTRY.replace("resource-open", "resource-opn"),
            "accepted.yaml:2: there is no finding 'resource-opn'",
        ),
        (ENTRY.replace("meant", "' '"), "accepted.yaml:2: an acceptance needs a reason"),
        (ENTRY.replace(", reason: meant", ""), "accepted.yaml:2: reason: The field is required"),
    ],
)
def test_a_file_of_acceptances_is_read_strictly(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(PolicyError) as error:
        accepted(tmp_path, text)
    assert fault in str(error.value)


def test_the_page_lists_every_finding() -> None:
    page = between((POLICIES / "README.md").read_text("utf-8"), "findings")
    listed = re.findall(
        r"`([a-z-]+)`", "".join(line.split("|")[1] for line in page.splitlines() if "`" in line)
    )

    known = {*file_findings.CODES, *stored_findings.CODES, *request_findings.CODES, *menu_findings.CODES}
    assert sorted(listed) == sorted(known)


def test_a_demand_beside_a_weaker_one_of_the_same_object_is_a_finding() -> None:
    def lines(**words: tuple[str, ...]) -> tuple[Rule, ...]:
        return tuple(
            Rule("assurance", f"endpoint GET /{name}", word) for name, of in words.items() for word in of
        )

    own = replace(
        OWN,
        assurance=lines(
            aged=("@two-factors", "@two-factors-within-15m"),
            login=("@login", "@phishing-resistant"),
            key=("@two-factors", "@service"),
            either=("@login-within-15m", "@two-factors"),
            open=("@anyone", "@service"),
        ),
    )
    pointless = [
        each for each in file_findings.file_findings(own, ()) if each.finding == file_findings.POINTLESS
    ]

    assert {each.place for each in pointless} == {
        "endpoint GET /aged",
        "endpoint GET /login",
        "endpoint GET /open",
    }
    assert (
        pointless[0].reason == "the line for @two-factors-within-15m has no effect: @two-factors demands less"
    )


@with_each("level", LEVELS)
def test_the_shipped_demands_have_no_line_without_effect_and_no_opening_that_is_not_listed(
    level: Demands,
) -> None:
    own = read_shipped(assurance=level)
    listed = {each.finding for each in file_findings.file_findings(own, ())}
    assert not {file_findings.POINTLESS, file_findings.INVARIANT} & listed

    opened = replace(
        own, assurance=(*own.assurance, Rule("assurance", "endpoint DELETE /api/user/{id}", "@anyone"))
    )
    broken = [
        each for each in file_findings.file_findings(opened, ()) if each.finding == file_findings.INVARIANT
    ]
    assert any("endpoint DELETE /api/user/{id} is open, but not listed" in each.reason for each in broken)


def test_persons_with_codes_whose_demands_they_can_not_meet_are_a_finding() -> None:
    own = replace(
        OWN,
        assurance=tuple(
            Rule("assurance", name, word)
            for name, word in {
                "resource @unregistered": "@anyone",
                "resource @no-session": "@anyone",
                "endpoint POST /login": "@anyone",
                "endpoint GET /mine": "@phishing-resistant",
                "endpoint GET /user/list": "@two-factors",
                "endpoint GET /user/{id}": "@phishing-resistant-within-15m",
            }.items()
        ),
    )
    standing = Standing(own.policy(derive([]), {}, 1), ROLES, {})

    def unmet(roles: Roles, acr: Acr) -> list[str]:
        return [f"{each.place}: {each.reason}" for each in unmet_demands(standing, {(roles, acr): 2})]

    assert unmet(("lister",), "pwd") == [
        "lister pwd: 2 persons with no second factor: GET /user/list demands @two-factors"
    ]
    assert unmet(("lister",), "mfa") == []
    assert unmet(("lister", "reader"), "mfa") == [
        "lister reader mfa: 2 persons with no passkey: GET /user/{id} demands @phishing-resistant-within-15m"
    ]
    assert unmet(("root",), "pwd")[0].endswith("demands @two-factors, the first of 2 requests")
    assert unmet(("root",), "phr") == []
    assert unmet((), "pwd") == []  # no code is held for what every login passes
