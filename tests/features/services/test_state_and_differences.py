"""Other services in state files, and in exact comparisons of two policies."""

from pathlib import Path

import pytest

from service.authz.engine.policy import Policy
from service.authz.engine.rules import Rule
from service.authz.publishing.shipped import read_shipped
from service.features.policy_history.state import ButtonState, ResourceState, ServiceState, State, state_of
from service.features.policy_history.state_planning import policy_of
from service.features.policy_history.state_reading import read_state
from service.features.policy_history.state_writing import as_yaml
from service.laboratory.analysis.comparison import differing_requests
from service.laboratory.strict_yaml import YamlError
from tests.authz.test_policy import RULES, TEXT
from tests.laboratory.proof.small import compared_one_by_one
from tests.support.cases import with_each

READ = ResourceState(resource_code="read", resource_name="Read", buttons=("orders:order:read",))


def state(**changes: ResourceState) -> State:
    return state_of(
        {
            "menu": {},
            "button": {"orders:order:read": ButtonState(title="Read")},
            "service": {"orders": ServiceState(ignore_case=True, opened="@login")},
            "resource": {
                "orders GET /orders/": ResourceState(
                    resource_code="all", resource_name="All", opened="@anyone"
                ),
                "orders GET /orders/{id}": READ,
                "GET /api/x": ResourceState(resource_code="own", resource_name="Own"),
                **changes,
            },
            "role": {},
        }
    )


def test_a_state_with_other_services_comes_back_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "state.yaml"
    file.write_text(as_yaml(state()))

    assert read_state(file) == state()
    assert next(iter(read_state(file).resources)) == "GET /api/x"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("services:\n  orders:", "services:\n  bills:", "there is no service orders in this file"),
        ("services:\n  orders:", "services:\n  portcullis:", "is not the name of another service"),
        ("  GET /api/x:\n", "  GET /api/x/:\n", "a path starts with"),
        ("    code: own\n", '    code: own\n    opened: "@login"\n', "only resources of other services"),
    ],
)
def test_what_a_state_can_not_say_of_services_is_refused(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    text = as_yaml(state())
    assert old in text
    file = tmp_path / "state.yaml"
    file.write_text(text.replace(old, new))

    with pytest.raises(YamlError, match=reason):
        read_state(file)


def test_the_policy_of_a_state_decides_as_the_state_says() -> None:
    policy = policy_of(state(), read_shipped())

    assert policy.judge_route("orders", "GET", "/Orders/", None).allowed
    assert not policy.judge_route("orders", "GET", "/orders/7", None).allowed
    assert policy.judge("service", "orders bind", None).required == (
        "service:orders:bind",
        "system:resource:bind",
    )


ORDERS = (
    Rule("service", "orders", "@nobody"),
    Rule("resource", "orders GET /orders/{id}", "orders:order:read"),
    Rule("resource", "orders GET /{kind}/7", "orders:order:list"),
)


@with_each(
    ("changed", "names"),
    [
        (ORDERS, []),
        ((*ORDERS, Rule("resource", "orders @unregistered", "@login")), ["orders @unregistered"]),
        (ORDERS[:2], ["orders GET /{kind}/7"]),
        ((ORDERS[0], ORDERS[2]), ["orders GET /orders/7", "orders GET /orders/{id}"]),
        (
            (*ORDERS, Rule("service", "orders", "@ignore-case")),
            ["orders GET /ORDERS/7", "orders GET /ORDERS/{}"],
        ),
        ((*ORDERS, Rule("resource", "orders GET /orders/7", "@anyone")), ["orders GET /orders/7"]),
    ],
)
def test_two_policies_are_compared_exactly_for_other_services(
    changed: tuple[Rule, ...], names: list[str]
) -> None:
    before, after = Policy(TEXT, (*RULES, *ORDERS)), Policy(TEXT, (*RULES, *changed))
    differing = differing_requests(before, after)

    assert [request.name for request in differing] == names
    assert differing == compared_one_by_one(before, after)
