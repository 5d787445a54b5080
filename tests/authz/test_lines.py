import threading
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.lines import Lines, changes
from service.authz.engine.rules import PolicyError, Rule
from service.kernel.cooperative_yield import cooperatively
from tests.support.cases import with_each

A, B = Rule("endpoint", "GET /a", "x:a"), Rule("endpoint", "GET /a", "x:b")
OTHER, RESOURCE = Rule("endpoint", "GET /b", "x:a"), Rule("resource", "GET /a", "x:a")


def test_lines_are_grouped_by_layer_and_object_and_keep_their_order_within() -> None:
    lines = Lines([B, OTHER, RESOURCE, A])

    assert list(lines) == [RESOURCE, B, A, OTHER]
    assert lines.of("endpoint", "GET /a") == (B, A)
    assert lines.codes("endpoint", "GET /a") == ("x:b", "x:a")


def test_grouped_lines_stay_as_they_are() -> None:
    lines = Lines([B, OTHER, RESOURCE, A])

    assert list(Lines(lines)) == list(lines)


def test_repeated_lines_are_one() -> None:
    assert len(Lines([A, B, A])) == 2


def test_what_has_no_line_has_no_codes() -> None:
    assert Lines([A]).codes("resource", "GET /a") == ()
    assert Lines([A]).codes("elsewhere", "GET /a") == ()
    assert list(Lines()) == []


def test_objects_are_those_of_one_layer() -> None:
    assert list(Lines([A, OTHER, RESOURCE]).objects("endpoint")) == ["GET /a", "GET /b"]


POSSIBLE = [Rule("resource", name, code) for name in ("GET /a", "GET /b", "PUT /a") for code in ("x", "y")]
some = st.sets(st.sampled_from([*POSSIBLE, Rule("grant", "x", "x"), Rule("grant", "y", "y")]))


def in_order(rules: set[Rule]) -> list[Rule]:
    method_last = sorted(rules, key=lambda rule: (*reversed(rule.object.partition(" ")), rule.code))
    return sorted(method_last, key=lambda rule: rule.layer == "grant")


@given(some, some)
def test_changed_lines_are_those_that_were_to_come_out(old: set[Rule], new: set[Rule]) -> None:
    before, after = Lines(in_order(old)), Lines(in_order(new))

    changed = before.changed(changes(before.by_object, after.by_object))

    assert list(changed) == list(before.edited(new - old, old - new)) == in_order(new)
    assert list(before) == in_order(old)
    assert not changes(changed.by_object, after.by_object)


@with_each(
    ("place", "codes", "fault"),
    [
        (("resource", "GET /a, b"), ("x",), "the resource 'GET /a, b': a path starts"),
        (("resource", "GET /a"), ("x", "@all"), "the resource 'GET /a': the code must be"),
        (("grant", "x"), ("y",), "the Button of 'x': .* must be equal"),
        (("grant", "x"), ("x", "x"), "a line appears twice"),
    ],
)
def test_changes_that_give_no_lines_are_refused(
    place: tuple[str, str], codes: tuple[str, ...], fault: str
) -> None:
    with pytest.raises(PolicyError, match=fault):
        Lines().changed({("resource", "GET /ok"): ("x",), place: codes})


def test_cooperative_iteration_yields_every_item() -> None:
    assert list(cooperatively(range(100_000))) == list(range(100_000))
    assert list(cooperatively([])) == []


def changes_of_turn() -> int:
    """Return how often two threads take turns while one of them goes through many items, for some 15 ms."""
    turns: list[str] = []
    ended = threading.Event()

    def other() -> None:
        while not ended.is_set():
            turns.append("other")

    def mine() -> None:
        for number in cooperatively(range(120_000)):
            turns.extend(["mine"] if number % 5_000 == 0 else [])

    thread = threading.Thread(target=other)
    thread.start()
    mine()
    ended.set()
    thread.join()
    return sum(first != two for first, two in pairwise(turns))


def test_cooperative_iteration_lets_another_thread_run_in_between() -> None:
    # Python itself changes three times meanwhile. A system with much to do may let the other one wait.
    assert any(changes_of_turn() > 10 for _ in range(20))


def test_lines_of_a_later_layer_are_kept_behind_the_others_and_decide_nothing() -> None:
    known = Lines([Rule("service", "orders", "@nobody"), Rule("grant", "a:b", "a:b")])
    both = known.changed({("tenant", "north"): ("a:b", "a:c"), ("region", "x y z"): ("?",)})
    assert [str(rule) for rule in both] == [
        "p, grant, a:b, a:b",
        "p, service, orders, @nobody",
        "p, region, x y z, ?",
        "p, tenant, north, a:b",
        "p, tenant, north, a:c",
    ]
    assert list(Lines().joined(both)) == list(known)
    fewer = both.changed({("tenant", "north"): (), ("region", "x y z"): ()})
    assert list(fewer) == list(known)
