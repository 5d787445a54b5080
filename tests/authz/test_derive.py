from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.authz.derive import Registered, derive, digest_of
from service.authz.faults import PolicyFault
from service.authz.rules import Rule

BASE = (Rule("resource", "@unregistered", "@login"), Rule("resource", "@no-session", "@anyone"))
ENDPOINTS = (Rule("endpoint", "GET /api/user/info", "@login"),)


def lines(*registered: Registered) -> list[str]:
    return [str(rule) for rule in derive((), (), registered)]


def test_lines_of_resources_stand_between_base_lines_and_endpoint_lines() -> None:
    registered = Registered("GET", "/a", [])

    assert list(derive(BASE, ENDPOINTS, [registered])) == [
        *BASE,
        Rule("resource", "GET /a", "@login"),
        *ENDPOINTS,
    ]


def test_a_bound_resource_opens_to_each_code_of_an_enabled_button() -> None:
    resource = Registered("GET", "/api/x", [("b:y", True), ("a:x", True), ("a:old", False)])

    assert lines(resource) == ["p, resource, GET /api/x, a:x", "p, resource, GET /api/x, b:y"]


def test_a_resource_bound_to_disabled_buttons_only_stays_closed() -> None:
    assert lines(Registered("GET", "/api/x", [("a:x", False)])) == ["p, resource, GET /api/x, @nobody"]


def test_a_resource_with_nothing_bound_opens_to_everybody_logged_in() -> None:
    assert lines(Registered("GET", "/api/x", [])) == ["p, resource, GET /api/x, @login"]


def test_a_resource_that_a_base_line_names_too_keeps_both_lines_and_repeats_none() -> None:
    base = (Rule("resource", "GET /api/x", "a:x"),)
    resource = Registered("GET", "/api/x", [("a:x", True), ("a:y", True)])

    assert list(derive(base, (), [resource])) == [*base, Rule("resource", "GET /api/x", "a:y")]


marks = st.lists(
    st.tuples(st.sampled_from(["a:x", "b:y", "*"]), st.booleans()), max_size=3, unique_by=lambda m: m[0]
)
resources = st.lists(
    st.builds(Registered, st.sampled_from(["GET", "PUT"]), st.sampled_from(["/a", "/b", "/a/{id}"]), marks),
    max_size=5,
    unique_by=lambda resource: resource[:2],
)


@given(resources, st.randoms(use_true_random=False))
def test_the_lines_do_not_depend_on_the_order_in_which_resources_are_read(
    registered: list[Registered], random: Random
) -> None:
    shuffled = [resource._replace(buttons=resource.buttons[::-1]) for resource in registered]
    random.shuffle(shuffled)

    assert list(derive(BASE, ENDPOINTS, registered)) == list(derive(BASE, ENDPOINTS, shuffled))


@pytest.mark.parametrize(
    "poisoned",
    [
        Registered("GET", "/api/a,b", []),
        Registered("GET", "/api/[a]", []),
        Registered("GET", "/api/#", []),
        Registered("GET", " /api", []),
        Registered("GET", "/api/", []),
        Registered("HEAD", "/api", []),
        Registered("GET", "/api", [("a, b", True)]),
        Registered("GET", "/api", [("@anyone", True)]),
        Registered("GET", "/api", [("", True)]),
    ],
)
def test_a_poisoned_record_is_named_and_gives_no_lines(poisoned: Registered) -> None:
    with pytest.raises(PolicyFault, match="the resource "):
        derive(BASE, ENDPOINTS, [Registered("GET", "/good", []), poisoned])


def test_the_poisoned_code_of_a_disabled_button_does_no_harm() -> None:
    assert lines(Registered("GET", "/api", [("a, b", False)])) == ["p, resource, GET /api, @nobody"]


def test_the_digest_is_that_of_the_documented_text() -> None:
    # printf 'model\n\np, resource, @unregistered, @login\n\na:x=0\nb=3\n' | sha256sum
    text_digest = "faf9a7bd4e1d758a0036ce174c7b0c57248ef7ef711b41044b5e34314d0c04a8"

    assert digest_of("model\n", BASE[:1], {"b": 3, "a:x": 0}) == text_digest


def test_the_digest_differs_when_the_model_a_line_the_order_or_the_permission_map_does() -> None:
    digests = {
        digest_of("m", BASE, {"a": 0}),
        digest_of("n", BASE, {"a": 0}),
        digest_of("m", BASE[:1], {"a": 0}),
        digest_of("m", BASE[::-1], {"a": 0}),
        digest_of("m", BASE, {"a": 1}),
        digest_of("m", BASE, {"b": 0}),
        digest_of("m", BASE, {}),
    }

    assert len(digests) == 7
