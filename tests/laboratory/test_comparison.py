import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.authz.engine.policy import Policy
from service.authz.engine.rules import GRANT, PolicyError, Rule
from service.kernel.codes import HeldCodes
from service.laboratory.analysis.comparison import (
    VISITOR,
    Differing,
    DifferingRequest,
    PossibleCaller,
    compared,
    differing_requests,
    smallest_example,
)
from tests.laboratory.proof.small import (
    CODES,
    FEW,
    TEXT,
    callers,
    compared_one_by_one,
    passes,
    policies,
    requests,
)
from tests.support.cases import with_each


def smallest_by_trying(first: Policy, other: Policy, most: int) -> dict[bool, int | None]:
    """Try all requests and callers; return the size of the smallest that only one policy lets pass.

    By whether that is ``other``; a visitor has size 0, and a login without codes 1.
    """
    sizes: dict[bool, int | None] = {False: None, True: None}
    for held in callers(FEW, most):
        size = 0 if held is None else 1 + len(held.codes)
        for path in requests():
            could, can = passes(first, path, held), passes(other, path, held)
            if could != can and sizes[can] is None:
                sizes[can] = size
    return sizes


def smallest(differing: list[DifferingRequest], *, gains: bool) -> int | None:
    callers = (each.gains if gains else each.loses for each in differing if each.layer is None)
    return min((caller.size for caller in callers if caller is not None), default=None)


def held_by(caller: PossibleCaller) -> HeldCodes | None:
    return None if caller.held is None else HeldCodes(caller.held)


@settings(max_examples=40)
@given(first=policies(), other=policies())
def test_groups_and_parts_show_what_comparing_every_request_by_itself_does(
    first: Policy, other: Policy
) -> None:
    whole = compared_one_by_one(first, other)
    differing = Differing(first, other, compared(first, other))

    assert list(differing) == whole
    assert (len(differing), differing[1:3]) == (len(whole), whole[1:3])


@settings(max_examples=40)
@given(first=policies(), other=policies())
def test_two_policies_agree_if_no_caller_and_no_request_tells_them_apart(
    first: Policy, other: Policy
) -> None:
    matches = differing_requests(first, other)
    tried = smallest_by_trying(first, other, 2)

    for gains, size in tried.items():
        shown = smallest(matches, gains=gains)
        assert shown == size if size is not None else shown is None or shown > 3


@pytest.mark.extended
@settings(max_examples=5)
@given(first=policies(), other=policies())
def test_no_set_of_codes_of_the_alphabet_tells_two_policies_apart_that_agree(
    first: Policy, other: Policy
) -> None:
    matches = differing_requests(first, other)
    tried = smallest_by_trying(first, other, len(FEW))

    assert {gains: smallest(matches, gains=gains) for gains in tried} == tried


@settings(max_examples=60)
@given(first=policies(), other=policies())
def test_each_caller_that_is_shown_is_let_through_by_one_enforcer_only(first: Policy, other: Policy) -> None:
    for each in differing_requests(first, other):
        for caller, lets, refuses in ((each.gains, other, first), (each.loses, first, other)):
            if caller is None:
                continue
            if each.layer == GRANT:
                assert lets.judge(GRANT, each.name, held_by(caller)).allowed
                assert not refuses.judge(GRANT, each.name, held_by(caller)).allowed
            else:
                path = each.name.removeprefix("GET ").replace("{p}", "c")
                assert passes(lets, path, held_by(caller))
                assert not passes(refuses, path, held_by(caller))


@settings(max_examples=20)
@given(first=policies(st.just(TEXT)))
def test_a_policy_agrees_with_itself(first: Policy) -> None:
    assert differing_requests(first, first) == []
    assert differing_requests(first, Policy(TEXT.replace("# ", "#  "), first.rules)) == []


OPEN = (
    Rule("resource", "@no-session", "@anyone"),
    Rule("resource", "@unregistered", "@login"),
    Rule("endpoint", "GET /a/{p}", "a:b:a"),
)


def test_a_pattern_that_only_one_policy_lets_through_is_found_though_no_code_differs() -> None:
    model = TEXT.replace("    || holdsPattern(r.caller, p.code) \\\n", "")

    differing = differing_requests(Policy(TEXT, OPEN), Policy(model, OPEN))

    assert differing == [DifferingRequest("GET /a/{p}", None, PossibleCaller(("*:b:a",)))]


def test_a_resource_that_takes_one_request_is_shown_with_that_request() -> None:
    taking = Rule("resource", "GET /a/7", "b")

    differing = differing_requests(Policy(TEXT, OPEN), Policy(TEXT, [*OPEN, taking]))

    assert differing == [DifferingRequest("GET /a/7", None, PossibleCaller(("a:b:a",)))]


def test_a_route_of_one_policy_alone_is_open_in_that_one_only() -> None:
    more = Rule("endpoint", "GET /a/b", "@anyone")

    differing = differing_requests(Policy(TEXT, OPEN), Policy(TEXT, [*OPEN, more]))

    assert differing == [DifferingRequest("GET /a/b", VISITOR, None)]


def test_a_line_whose_code_another_line_covers_makes_no_difference() -> None:
    more = Rule("endpoint", "GET /a/{p}", "@login")
    covered = [*OPEN, more, Rule("endpoint", "GET /a/{p}", "b")]

    assert differing_requests(Policy(TEXT, [*OPEN, more]), Policy(TEXT, covered)) == []


def test_who_may_hand_out_a_code_is_compared_too() -> None:
    differing = differing_requests(Policy(TEXT, OPEN), Policy(TEXT, [*OPEN, Rule("grant", "a:b", "a:b")]))

    assert differing == [DifferingRequest("a:b", PossibleCaller(("a:b",)), None, "grant")]


@with_each(
    ("line", "gains"),
    [
        ("p, service, orders bind, service:orders:bind", PossibleCaller(("service:orders:bind",))),
        ("p, account, delete self, @login", PossibleCaller(())),
        ("p, account, evaluate other-service, system:all", PossibleCaller(("system:all",))),
        ("p, resource, @preflight, @anyone", VISITOR),
    ],
)
def test_what_is_asked_beside_requests_is_compared_too(line: str, gains: PossibleCaller) -> None:
    layer, name, code = line.split(", ")[1:]
    first, other = Policy(TEXT, []), Policy(TEXT, [Rule(layer, name, code)])

    (differing_request,) = differing_requests(first, other)
    (back,) = differing_requests(other, first)

    expected_layer = None if layer == "resource" else layer
    assert (
        differing_request.name,
        differing_request.layer,
        differing_request.gains,
        differing_request.loses,
    ) == (name, expected_layer, gains, None)
    assert (back.name, back.gains, back.loses) == (name, None, gains)
    assert differing_requests(other, other) == []


def test_words_about_routers_open_nothing() -> None:
    lines = [Rule("service", "orders", "@nobody"), Rule("service", "orders", "@ignore-case")]
    assert differing_requests(Policy(TEXT, []), Policy(TEXT, lines)) == []


def test_how_many_must_approve_is_a_difference_though_nobody_passes_it() -> None:
    before, after = (
        Policy(TEXT, [Rule("approve", f"role auditor stage 1 takes {number}", "@counted")])
        for number in (1, 2)
    )

    assert differing_requests(before, before) == []
    assert differing_requests(before, after) == [
        DifferingRequest("role auditor stage 1 takes 1", None, None, "approve"),
        DifferingRequest("role auditor stage 1 takes 2", None, None, "approve"),
    ]
    assert smallest_example(differing_requests(before, after)) is None


def test_who_may_ask_and_who_approves_is_compared_for_every_caller() -> None:
    before = Policy(TEXT, [Rule("request", "role auditor", "@login")])
    after = Policy(TEXT, [Rule("approve", "role auditor stage 1 for others", "a:b")])

    assert differing_requests(before, after) == [
        DifferingRequest("role auditor stage 1 for others", PossibleCaller(("a:b",)), None, "approve"),
        DifferingRequest("role auditor", None, PossibleCaller(()), "request"),
    ]


def test_what_is_demanded_of_who_asks_is_compared_where_both_let_ask() -> None:
    asking = Rule("request", "role auditor", "@login")
    before, after = (
        Policy(TEXT, [asking, Rule("assurance", "request role auditor", word)])
        for word in ("@anyone", "@two-factors")
    )

    (difference,) = differing_requests(before, after)

    assert (difference.layer, difference.name) == ("assurance", "request role auditor")
    assert (difference.gains, difference.loses) == (None, PossibleCaller(("@anyone",)))


def test_the_simplest_example_needs_the_fewest_codes() -> None:
    lines = [*OPEN, Rule("endpoint", "GET /b/{p}", "@login")]
    differing = differing_requests(Policy(TEXT), Policy(TEXT, lines))

    assert smallest_example(differing) == (differing[1], PossibleCaller(()))
    assert smallest_example([]) is None


def test_codes_of_many_segments_are_compared_in_no_time() -> None:
    long = ":".join("abcdefgh" * 4)
    before, after = (
        Policy(TEXT, [*OPEN, Rule("endpoint", "GET /b/b", code)]) for code in (long, f"{long}:x")
    )

    (difference,) = differing_requests(before, after)

    assert (difference.loses, difference.gains) == (PossibleCaller((long,)), PossibleCaller((f"{long}:x",)))


def test_a_model_outside_the_closed_grammar_is_refused() -> None:
    model = TEXT.replace("holdsPattern(r", 'r.layer == "resource" && holdsPattern(r')

    with pytest.raises(PolicyError, match="a comparison must be"):
        differing_requests(Policy(TEXT, OPEN), Policy(model, OPEN))


def test_the_alphabet_has_all_codes_of_two_and_of_three_segments() -> None:
    assert (len(FEW), len(CODES)) == (3 + 9, 3 + 9 + 27)
