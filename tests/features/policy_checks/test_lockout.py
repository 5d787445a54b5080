from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.authz.engine.resource_index import ResourceIndex
from service.authz.engine.rules import Rule
from service.authz.publishing.shipped import read_shipped
from service.errors import Conflict
from service.features.policy_checks.lockout import locked_out, require_way_back
from service.kernel.codes import HeldCodes
from service.kernel.permission_catalogue import ADMINISTERING, CATALOGUE, codes_by_endpoint
from service.laboratory.proof.request_classes import registered, request_classes
from tests.support.cases import with_each

SHIPPED = read_shipped()
STRICT = read_shipped(strict=True)


def policy_of(*shared: Rule, shipped: object = SHIPPED, revision: int = 1) -> Policy:
    assert isinstance(shipped, type(SHIPPED))
    return shipped.policy(Lines(shared), {}, revision)


def closed(names: Iterable[str]) -> list[Rule]:
    return [Rule("resource", name, "@nobody") for name in names]


def test_every_route_that_writes_roles_menus_resources_or_the_policy_administers_it() -> None:
    writing = {
        name
        for name in codes_by_endpoint(CATALOGUE)
        if not name.startswith("GET ")
        and name.split("/")[2] in ("role", "menu", "resource", "policy")
        and not name.endswith("/import")
    }

    assert writing
    assert writing <= ADMINISTERING
    assert "PUT /api/user/{id}" in ADMINISTERING
    assert codes_by_endpoint(CATALOGUE).keys() >= ADMINISTERING


def test_nobody_is_locked_out_of_the_shipped_policy() -> None:
    assert locked_out(policy_of()) == []


def test_without_the_line_for_unregistered_requests_all_of_it_is_closed() -> None:
    assert locked_out(policy_of(shipped=STRICT)) == sorted(ADMINISTERING)
    opened = [Rule("resource", name, "@login") for name in ADMINISTERING]
    assert locked_out(policy_of(*opened, shipped=STRICT)) == []


@with_each(
    ("resource", "lost"),
    [
        ("PUT /api/resource/{id}/buttons", ["PUT /api/resource/{id}/buttons"]),
        ("PUT /api/resource/7/buttons", ["PUT /api/resource/7/buttons"]),
        ("POST /api/policy/reload", ["POST /api/policy/reload"]),
        (
            "DELETE /api/{kind}/{id}",
            [f"DELETE /api/{kind}/{{id}}" for kind in ("menu", "opening", "resource", "role", "service")],
        ),
        ("GET /api/file/list", []),
        ("POST /api/role/import", []),
        ("PUT /api/resource/{id}/buttons/x", []),
    ],
)
def test_a_resource_that_nobody_passes_locks_out_of_the_requests_that_it_takes(
    resource: str, lost: list[str]
) -> None:
    assert locked_out(policy_of(*closed([resource]))) == lost


def test_a_literal_resource_beside_a_closed_one_opens_its_own_requests_only() -> None:
    rules = [*closed(["PUT /api/menu/{id}"]), Rule("resource", "PUT /api/menu/7", "system:menu:update")]

    assert locked_out(policy_of(*rules)) == ["PUT /api/menu/{id}"]


async def test_a_candidate_that_closes_what_is_open_is_refused_with_the_requests() -> None:
    with pytest.raises(Conflict) as refused:
        await require_way_back(policy_of(*closed(["PUT /api/menu/{id}"])), policy_of())

    assert refused.value.extra["lockedOut"] == ["PUT /api/menu/{id}"]


async def test_what_was_closed_before_may_stay_closed() -> None:
    two = policy_of(*closed(["PUT /api/menu/{id}", "POST /api/menu"]))
    first = policy_of(*closed(["POST /api/menu"]))

    await require_way_back(first, two)
    await require_way_back(two, two)
    with pytest.raises(Conflict):
        await require_way_back(two, first)


async def test_before_the_first_policy_everything_is_closed_and_nothing_is_refused() -> None:
    await require_way_back(policy_of(*closed(["POST /api/menu"])), policy_of(revision=0))


async def test_taking_away_the_resource_that_keeps_one_request_open_is_refused() -> None:
    general = closed(["PUT /api/menu/{id}"])
    with pytest.raises(Conflict) as refused:
        await require_way_back(
            policy_of(*general), policy_of(*general, Rule("resource", "PUT /api/menu/7", "@login"))
        )

    assert refused.value.extra["lockedOut"] == ["PUT /api/menu/7"]


PATHS = ["PUT /api/menu/{id}", "PUT /api/menu/7", "PUT /api/{any}/{id}", "POST /api/menu", "GET /api/x/{id}"]
shared_lines = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(["@nobody", "@login"]))


@given(shared_lines, shared_lines)
async def test_only_what_a_candidate_changes_is_looked_at_and_nothing_is_missed(
    before: dict[str, str], after: dict[str, str]
) -> None:
    in_force, candidate = (
        policy_of(*(Rule("resource", name, code) for name, code in codes.items()))
        for codes in (before, after)
    )
    names = registered(in_force) | registered(candidate)
    serving = ResourceIndex(candidate.rules.objects("endpoint"))
    everything = HeldCodes(["*"])
    lost = sorted(
        request_class.name
        for request_class in request_classes(list(ADMINISTERING), names, names, serving=serving)
        if request_class.passes(in_force, everything) and not request_class.passes(candidate, everything)
    )
    refused = []
    try:
        await require_way_back(candidate, in_force)
    except Conflict as conflict:
        refused = conflict.extra["lockedOut"]

    assert [name for name in refused if name not in lost] == []
    assert bool(refused) == bool(lost)
