from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.lines import Lines
from service.authz.engine.rules import APPROVE, REQUEST, REVIEW, PolicyError, Rule
from service.authz.publishing.derive import derive, digest_of, with_demands
from service.authz.publishing.shipped import read_shipped
from service.kernel.codes import HeldCodes
from service.kernel.request_objects import (
    PublishedRule,
    Stage,
    ask,
    ask_at_once,
    assignment_for,
    stage_for,
    stage_takes,
)
from service.kernel.services import NO_DEMAND, BoundResource, PublishedOpening, Service
from tests.support.cases import with_each

RULES = (Rule("resource", "GET /api/x", "@login"), Rule("resource", "GET /api/y", "a:x"))


def lines(*registered: BoundResource) -> list[str]:
    return [str(rule) for rule in derive(registered) if rule.layer != "assurance"]


def test_a_code_has_a_line_of_the_grant_layer_and_that_of_an_enabled_button_one_of_the_permission_layer() -> (
    None
):
    registered = BoundResource("GET", "/a", [])

    assert list(derive([registered], ["b:y", "*", "b:y", "a:*:x"], disabled=["a:*:x"])) == [
        Rule("resource", "GET /a", "@login"),
        Rule("grant", "*", "*"),
        Rule("grant", "a:*:x", "a:*:x"),
        Rule("grant", "b:y", "b:y"),
        Rule("permission", "*", "*"),
        Rule("permission", "b:y", "b:y"),
        Rule("assurance", "resource GET /a", "@anyone"),
    ]


@with_each("code", ["@anyone", "", "a, b", "a:"])
def test_a_poisoned_code_of_a_button_is_named_and_gives_no_lines(code: str) -> None:
    with pytest.raises(PolicyError, match="the Button of "):
        derive([], ["good", code])


def test_a_bound_resource_opens_to_each_code_of_an_enabled_button() -> None:
    resource = BoundResource("GET", "/api/x", [("b:y", True), ("a:x", True), ("a:old", False)])

    assert lines(resource) == ["p, resource, GET /api/x, a:x", "p, resource, GET /api/x, b:y"]


def test_a_resource_bound_to_disabled_buttons_only_stays_closed() -> None:
    assert lines(BoundResource("GET", "/api/x", [("a:x", False)])) == ["p, resource, GET /api/x, @nobody"]


def test_a_resource_with_nothing_bound_opens_to_everybody_logged_in() -> None:
    assert lines(BoundResource("GET", "/api/x", [])) == ["p, resource, GET /api/x, @login"]


def test_what_a_resource_demands_is_a_line_beside_those_that_open_it() -> None:
    demanding = BoundResource("GET", "/api/x", [("a:x", True)], demand=("@login", "@service"))
    rest = Service("orders")

    assert [str(rule) for rule in derive([demanding], services=[rest]) if rule.layer == "assurance"] == [
        "p, assurance, resource GET /api/x, @login",
        "p, assurance, resource GET /api/x, @service",
        "p, assurance, resource orders @unregistered, @anyone",
    ]


marks = st.lists(
    st.tuples(st.sampled_from(["a:x", "b:y", "*"]), st.booleans()), max_size=3, unique_by=lambda m: m[0]
)
resources = st.lists(
    st.builds(
        BoundResource,
        st.sampled_from(["GET", "PUT"]),
        st.sampled_from(["/a", "/b", "/a/{id}"]),
        marks,
        st.sampled_from(["portcullis", "orders"]),
        st.sampled_from([NO_DEMAND, ("@login",), ("@service", "@two-factors-within-15m")]),
    ),
    max_size=5,
    unique_by=lambda resource: (*resource[:2], resource.service),
)


@given(resources, st.randoms(use_true_random=False))
def test_the_lines_do_not_depend_on_the_order_in_which_resources_are_read(
    registered: list[BoundResource], random: Random
) -> None:
    shuffled = [resource._replace(buttons=resource.buttons[::-1]) for resource in registered]
    random.shuffle(shuffled)

    assert list(derive(registered, "ab")) == list(derive(shuffled, "ba"))


@given(resources, resources, st.sets(st.sampled_from("abc")), st.sets(st.sampled_from("abc")))
def test_lines_that_are_known_save_work_and_change_nothing(
    before: list[BoundResource], after: list[BoundResource], had: set[str], has: set[str]
) -> None:
    known = derive(before, had)

    assert list(derive(after, has, known)) == list(derive(after, has))
    assert list(known) == list(derive(before, had))


ORDERS = Service("orders", ignore_case=True)


def test_a_resource_of_another_service_with_nothing_bound_stays_closed_until_a_line_opens_it() -> None:
    free = BoundResource("GET", "/orders/", [], "orders")
    bound = BoundResource("GET", "/orders/{id}", [("b:y", True)], "orders")
    off = BoundResource("PUT", "/orders/{id}", [("b:y", False)], "orders")
    openings = [
        PublishedOpening("orders @unregistered", "@login"),
        PublishedOpening("orders GET /orders/", "@anyone"),
        PublishedOpening("orders GET /orders/{id}", "@login"),
    ]

    derived = derive([free, bound, off], services=[ORDERS])
    assert [str(rule) for rule in derived] == [
        "p, resource, orders GET /orders/, @nobody",
        "p, resource, orders GET /orders/{id}, b:y",
        "p, resource, orders PUT /orders/{id}, @nobody",
        "p, service, orders, @ignore-case",
        "p, service, orders, @nobody",
        *(
            f"p, service, orders {action}, {code}:{action}"
            for action in ("bind", "create", "delete", "list", "open", "update")
            for code in ("service:orders", "system:resource")
        ),
        *(
            f"p, assurance, resource orders {name}, @anyone"
            for name in ("@unregistered", "GET /orders/", "GET /orders/{id}", "PUT /orders/{id}")
        ),
    ]
    opened = derive([free, bound, off], services=[ORDERS], openings=openings)
    assert [str(rule) for rule in opened][:5] == [
        "p, resource, orders @unregistered, @login",
        "p, resource, orders GET /orders/, @anyone",
        "p, resource, orders GET /orders/{id}, @login",
        "p, resource, orders GET /orders/{id}, b:y",
        "p, resource, orders PUT /orders/{id}, @nobody",
    ]


@with_each(
    ("opening", "fault"),
    [
        (PublishedOpening("bills @unregistered", "@login"), "can't be opened"),
        (PublishedOpening("orders GET /none", "@login"), "can't be opened"),
        (PublishedOpening("GET /api/x", "@anyone"), "can't be opened"),
        (PublishedOpening("@unregistered", "@anyone"), "can't be opened"),
        (PublishedOpening("orders @unregistered", "a:b"), "@login or @anyone"),
        (PublishedOpening("orders @unregistered", "@nobody"), "@login or @anyone"),
    ],
)
def test_an_opening_that_opens_nothing_of_another_service_is_refused(
    opening: PublishedOpening, fault: str
) -> None:
    with pytest.raises(PolicyError, match=fault):
        derive([BoundResource("GET", "/api/x", [])], services=[ORDERS], openings=[opening])


def test_without_other_services_the_digest_is_what_it_was_before_there_were_any() -> None:
    registered = [
        BoundResource("GET", "/api/x", []),
        BoundResource("PUT", "/api/{y}", [("0:b", True), ("_c", True)]),
    ]
    # Of the version before, which knows no demands.
    known = "f190a93cae59f51cdd0876b1f27208d9ad72c124a532b684bdcd646745b378a8"
    derived = derive(registered, ["_c", "a:b", "a", "a-b", "*", "0:b"])
    before = Lines(rule for rule in derived if rule.layer != "assurance")

    assert digest_of(before, {"a": 1}) == known
    assert list(with_demands(before)) == list(derived)


def test_a_revision_without_demands_gets_the_lines_of_resources_and_services_that_have_none() -> None:
    before = derive([BoundResource("GET", "/orders/", [], "orders")], services=[ORDERS])
    published = Lines(rule for rule in before if rule.layer != "assurance")

    assert list(with_demands(published)) == list(before)
    assert with_demands(before) is before
    assert list(with_demands(Lines())) == []


@with_each(
    "poisoned",
    [
        BoundResource("GET", "/api/a,b", []),
        BoundResource("GET", "/api/[a]", []),
        BoundResource("GET", "/api/#", []),
        BoundResource("GET", " /api", []),
        BoundResource("GET", "/api/", []),
        BoundResource("HEAD", "/api", []),
        BoundResource("GET", "/api", [("a, b", True)]),
        BoundResource("GET", "/api", [("@anyone", True)]),
        BoundResource("GET", "/api", [("", True)]),
    ],
)
def test_a_poisoned_record_is_named_and_gives_no_lines(poisoned: BoundResource) -> None:
    with pytest.raises(PolicyError, match="the resource "):
        derive([BoundResource("GET", "/good", []), poisoned])


def test_the_poisoned_code_of_a_disabled_button_does_no_harm() -> None:
    assert lines(BoundResource("GET", "/api", [("a, b", False)])) == ["p, resource, GET /api, @nobody"]


def test_the_digest_is_that_of_the_documented_text() -> None:
    # printf 'p, resource, GET /api/x, @login\n\na:x=0\nb=3\n' | sha256sum
    text_digest = "8f3bccdce88c051afe016610f42ef16c185522c7fbf607e882766de6af2c223f"

    assert digest_of(Lines(RULES[:1]), {"b": 3, "a:x": 0}) == text_digest


def test_the_digest_differs_when_a_line_the_order_or_the_permission_map_does() -> None:
    digests = {
        digest_of(Lines(RULES), {"a": 0}),
        digest_of(Lines(RULES[:1]), {"a": 0}),
        digest_of(Lines(RULES[::-1]), {"a": 0}),
        digest_of(Lines(RULES), {"a": 1}),
        digest_of(Lines(RULES), {"b": 0}),
        digest_of(Lines(RULES), {}),
    }

    assert len(digests) == 6


def test_what_is_no_demand_gives_no_lines() -> None:
    with pytest.raises(PolicyError, match="the demand on 'resource GET /api'"):
        derive([BoundResource("GET", "/api", [], demand=("@nobody",))])


REQUESTABLE = [
    PublishedRule("auditor", "@login", [Stage("a:b", 2), Stage("c:d", 1)], ("@two-factors",), emergency=True),
    PublishedRule("reader", "a:b", [Stage("c:d", 1)], ("@anyone",), grant_needed=False),
]


def test_a_rule_of_requests_gives_lines_that_say_who_asks_who_approves_and_how_many() -> None:
    lines = {str(line) for line in derive([], requestable=REQUESTABLE)}
    assert lines == {
        "p, request, role auditor, @login",
        "p, request, role auditor emergency, @login",
        "p, request, role reader, a:b",
        "p, approve, role auditor stage 1 for others, a:b",
        "p, approve, role auditor stage 1 takes 2, @counted",
        "p, approve, role auditor stage 2 for others, c:d",
        "p, approve, role auditor stage 2 takes 1, @counted",
        "p, approve, role reader stage 1 for others, c:d",
        "p, approve, role reader stage 1 takes 1, @counted",
        "p, approve, role reader without-grant, @login",
        "p, assurance, request role auditor, @two-factors",
        "p, assurance, request role auditor emergency, @two-factors",
        "p, assurance, request role reader, @anyone",
    }


def test_nobody_passes_a_stage_for_themselves_and_holders_of_its_code_pass_it_for_others() -> None:
    policy = read_shipped().policy(derive([], requestable=REQUESTABLE), {}, 1)
    everything, plain = HeldCodes(["*"]), HeldCodes(["a:b"])
    for held in (everything, plain, HeldCodes([]), None):
        assert not policy.judge(APPROVE, stage_for("auditor", 1, "self"), held).allowed
        assert not policy.judge(APPROVE, stage_takes("auditor", 1, 2), held).allowed
    assert policy.judge(APPROVE, stage_for("auditor", 1, "others"), plain).allowed
    assert not policy.judge(APPROVE, stage_for("auditor", 2, "others"), plain).allowed
    assert policy.judge(REQUEST, ask("auditor"), HeldCodes([])).allowed
    assert not policy.judge(REQUEST, ask("auditor"), None).allowed
    assert not policy.judge(REQUEST, ask_at_once("reader"), everything).allowed


def test_each_code_of_reviews_gives_a_line_by_which_its_holders_alone_decide() -> None:
    derived = derive([], contributed={"reviewed_by": ["hr:review", "a:b"]})
    policy = read_shipped().policy(derived, {}, 1)
    names = [assignment_for("others", code) for code in ("a:b", "hr:review")]

    assert [str(line) for line in derived] == [
        "p, review, assignment for others by a:b, a:b",
        "p, review, assignment for others by hr:review, hr:review",
    ]
    for codes, passed in (
        (["hr:review"], [False, True]),
        (["system:review:decide"], [False, False]),
        (["*"], [True, True]),
    ):
        held = HeldCodes(codes)
        assert [policy.judge(REVIEW, name, held).allowed for name in names] == passed
        assert not policy.judge(REVIEW, assignment_for("self", "hr:review"), held).allowed
        assert not policy.judge(REVIEW, assignment_for("unasked", "hr:review"), held).allowed


@pytest.mark.parametrize("line", ["assignment for others, a:b", "close others, a:b"])
def test_published_lines_can_not_speak_for_the_files_of_a_node_about_reviews(line: str) -> None:
    name, code = line.split(", ")
    with pytest.raises(PolicyError, match=f"must not have the object {name}"):
        read_shipped().policy(derive([]).changed({(REVIEW, name): (code,)}), {}, 1)
