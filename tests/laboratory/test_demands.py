"""What two policies demand differently, and the weakest words that meet a demand."""

import random

from service.authz.engine.policy import Policy
from service.authz.engine.rules import Rule
from service.features.explain.access import what, who
from service.features.explain.api_who_may import WhatQuery, what_answer
from service.features.explain.matrix import Matrix
from service.kernel.assurance import BY_STRONGEST, EVERY_CALLER, WORDS
from service.laboratory.analysis.comparison import PossibleCaller, differing_requests
from service.laboratory.analysis.demands import least_words, meeting
from service.laboratory.analysis.impact import Standing
from service.laboratory.analysis.sources import holder_of
from service.laboratory.prove import prove
from tests.policies.stock import MODEL
from tests.support.cases import with_each

TEXT = MODEL.read_text("utf-8")
ALL = [
    Rule("resource", "@unregistered", "@login"),
    Rule("resource", "@no-session", "@anyone"),
    Rule("resource", "GET /a/b", "a:b"),
    Rule("endpoint", "GET /a/{p}", "@login"),
    Rule("endpoint", "GET /open", "@anyone"),
    Rule("assurance", "endpoint GET /open", "@anyone"),
    Rule("assurance", "resource @no-session", "@anyone"),
]


def policy(rest: tuple[str, ...], bound: tuple[str, ...], endpoint: tuple[str, ...]) -> Policy:
    demands = {"resource @unregistered": rest, "resource GET /a/b": bound, "endpoint GET /a/{p}": endpoint}
    lines = [Rule("assurance", name, word) for name, words in demands.items() for word in words]
    return Policy(TEXT, [*ALL, *lines])


def some(dice: random.Random) -> tuple[str, ...]:
    return tuple(dice.sample(WORDS, dice.randint(0, 3)))


@with_each("seed", range(20))
def test_a_caller_meets_demands_exactly_if_it_satisfies_one_of_the_least_words(seed: int) -> None:
    dice = random.Random(seed)
    demands = (some(dice), some(dice))
    asked = policy(demands[0], (), demands[1])

    least = least_words(asked, demands)

    for caller in EVERY_CALLER:
        passes = asked.judge_assurance("@unregistered", "GET /a/{p}", caller).allowed
        assert passes == (not caller.codes.isdisjoint(least)) == (caller in meeting(TEXT, demands))
    for word in least:  # and none of them is of no use
        assert not any(word in BY_STRONGEST[other].codes for other in least if other != word)


@with_each("seed", range(30))
def test_two_policies_differ_where_some_caller_has_proved_enough_by_one_of_them_alone(seed: int) -> None:
    dice = random.Random(seed)
    before, after = (policy(some(dice), some(dice), some(dice)) for _ in range(2))

    differing = {each.name: each for each in differing_requests(before, after)}

    objects = {"GET /a/{p}": "@unregistered", "GET /a/b": "GET /a/b"}
    for name, resource in objects.items():
        could, can = (
            {each for each in EVERY_CALLER if asked.judge_assurance(resource, "GET /a/{p}", each).allowed}
            for asked in (before, after)
        )
        for caller, only in (("gains", can - could), ("loses", could - can)):
            shown = getattr(differing.get(name), caller, None)
            assert (shown is None) == (not only)
            if shown is not None:
                assert BY_STRONGEST[shown.codes[0]] in only
                assert not any(each.codes < BY_STRONGEST[shown.codes[0]].codes for each in only)
    assert differing.keys() <= objects.keys()


def test_another_demand_on_an_act_is_a_difference() -> None:
    demand = Rule("assurance", "account set-contact self", "@login")
    before = Policy(TEXT, [*ALL, demand])
    after = Policy(TEXT, [*ALL, demand._replace(code="@login-within-12h")])

    (difference,) = differing_requests(before, after)

    assert (difference.layer, difference.name) == ("assurance", "account set-contact self")
    assert (difference.gains, difference.loses) == (None, PossibleCaller(("@login",)))


def test_who_what_matrix_and_proofs_name_the_demand_and_leave_nobody_out() -> None:
    stronger = policy(("@two-factors", "@service"), ("@two-factors",), ("@login-within-15m", "@service"))
    weaker = policy(("@anyone",), ("@anyone",), ("@login", "@service"))
    words = ("@two-factors-within-15m", "@service")
    for asked, expected in ((stronger, words), (weaker, ("@login", "@service"))):
        standing = Standing(asked, {"r": ("a:b",)}, {("r",): 1})
        passing = who(standing, "GET", "/a/c")
        assert (passing.assurance, passing.users, passing.any_login) == (expected, 1, True)
        rows = {row.object: row for row in Matrix(standing).rows()}
        assert rows["GET /a/{p}"].assurance == expected
        assert [cell.role_code for cell in rows["GET /a/{p}"].roles] == ["r"]
        assert rows["GET /open"].assurance == ("@anyone",)
        answer = what_answer(asked, holder_of(["a:b"]), WhatQuery(codes="a:b", page=1, size=9))
        assert {item.object: item.assurance for item in answer.items}["GET /a/{p}"] == list(expected)
        assert len(answer.items) == len(what(asked, holder_of(["a:b"]).held))
        (proved,) = prove(asked, "GET", "/a/c").requests
        assert proved.assurance == expected
    assert who(Standing(stronger, {}, {}), "GET", "/a/b").assurance == ("@two-factors-within-15m",)
