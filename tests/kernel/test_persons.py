"""Which accounts count as one person: by single edges, and against an oracle that walks all ways."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Final, get_args

from hypothesis import given
from hypothesis import strategies as st

from service.kernel.persons import ControlAct, Edge, Persons, SamePerson, since_of
from tests.support.cases import with_each

NOW = datetime(2026, 5, 30, 12, tzinfo=UTC)
MADE: Final = "made"
TAKEN: Final = "password"
ANN, BOB, CID, MIRA, NOAH = range(1, 6)
NAMES = {ANN: "ann", BOB: "bob", CID: "cid", MIRA: "mira", NOAH: "noah"}


def edge(holder: int, account: int, act: ControlAct = TAKEN, *, days: float = 1) -> Edge:
    return Edge(holder, account, act, NOW - timedelta(days=days))


def same(edges: list[Edge], first: int, second: int, *parties: int) -> SamePerson | None:
    return Persons(edges, {first, second, *parties}, since_of(NOW, 30)).same(first, second)


@with_each("act", get_args(ControlAct))
def test_whoever_acted_on_an_account_and_its_owner_are_one_person_both_ways(act: ControlAct) -> None:
    edges = [edge(MIRA, NOAH, act)]

    assert same(edges, MIRA, NOAH)
    assert same(edges, NOAH, MIRA)
    assert not same(edges, NOAH, ANN)


def test_an_act_counts_over_any_number_of_steps() -> None:
    edges = [edge(ANN, BOB, MADE), edge(BOB, CID), edge(CID, NOAH, "key")]

    assert same(edges, NOAH, ANN)
    assert Persons(edges, (), since_of(NOW, 30)).behind(NOAH) == {ANN, BOB, CID}


@with_each("act", get_args(ControlAct))
def test_an_act_counts_for_the_set_days_and_no_longer(act: ControlAct) -> None:
    assert same([edge(MIRA, NOAH, act, days=29.9)], MIRA, NOAH)
    assert not same([edge(MIRA, NOAH, act, days=30)], MIRA, NOAH)
    # The way ends where its first edge does.
    assert not same([edge(ANN, MIRA, act, days=31), edge(MIRA, NOAH, act)], ANN, NOAH)


@with_each("act", get_args(ControlAct))
def test_a_party_that_stands_behind_two_accounts_joins_them(act: ControlAct) -> None:
    edges = [edge(MIRA, ANN, act), edge(MIRA, BOB, act)]

    assert same(edges, ANN, BOB, MIRA)


def test_whoever_has_made_everybody_and_takes_no_part_joins_nobody() -> None:
    edges = [edge(MIRA, ANN, MADE), edge(MIRA, NOAH, MADE), edge(NOAH, BOB, MADE)]

    assert not same(edges, ANN, BOB)
    assert not same(edges, ANN, NOAH)
    assert same(edges, BOB, NOAH)


@with_each("act", [act for act in get_args(ControlAct) if act != MADE])
def test_a_later_takeover_joins_an_account_with_those_that_the_same_one_has_made(act: ControlAct) -> None:
    edges = [edge(MIRA, ANN, MADE), edge(MIRA, BOB, MADE), edge(MIRA, BOB, act)]

    assert same(edges, ANN, BOB)
    # Also through an account that was made for it.
    assert same([edge(MIRA, ANN, MADE), edge(MIRA, CID, MADE), edge(CID, BOB, act)], ANN, BOB)


def test_two_who_have_taken_over_the_same_account_are_two_persons() -> None:
    edges = [edge(ANN, CID), edge(BOB, CID)]

    assert not same(edges, ANN, BOB, CID)
    assert Persons(edges, (), since_of(NOW, 30)).pairs([ANN, BOB, CID]) == {
        frozenset((ANN, CID)),
        frozenset((BOB, CID)),
    }


@with_each(
    ("edges", "first", "second", "sentence"),
    [
        (
            [edge(MIRA, NOAH, days=27)],
            NOAH,
            MIRA,
            "noah counts as the same person as mira: mira set the password of noah on 3 May 2026",
        ),
        (
            [edge(MIRA, NOAH, days=27)],
            MIRA,
            NOAH,
            "mira counts as the same person as noah: mira set the password of noah on 3 May 2026",
        ),
        (
            [edge(ANN, 99, MADE, days=2), edge(99, NOAH, "address")],
            NOAH,
            ANN,
            (
                "noah counts as the same person as ann: ann created a deleted account on 28 May 2026 "
                "and a deleted account changed the email address or phone of noah on 29 May 2026"
            ),
        ),
        (
            [edge(MIRA, ANN, MADE), edge(MIRA, BOB, "factor")],
            BOB,
            ANN,
            (
                "bob counts as the same person as ann: mira reset the second factors of bob on 29 May 2026 "
                "and mira created ann on 29 May 2026"
            ),
        ),
    ],
)
def test_the_reason_is_told_in_words(edges: list[Edge], first: int, second: int, sentence: str) -> None:
    reason = same(edges, first, second)

    assert reason is not None
    assert reason.sentence(NAMES) == sentence


IDS = range(6)
EDGES = st.lists(
    st.builds(
        Edge,
        st.sampled_from(IDS),
        st.sampled_from(IDS),
        st.sampled_from((MADE, TAKEN)),
        st.sampled_from((NOW - timedelta(days=1), NOW - timedelta(days=40))),
    ),
    max_size=12,
)


def ways(edges: list[Edge], holder: int, account: int) -> list[tuple[Edge, ...]]:
    """Return all ways from a holder down to an account that pass no account twice."""
    reason: list[tuple[Edge, ...]] = []

    def walk(at: int, way: tuple[Edge, ...], seen: frozenset[int]) -> None:
        if at == account and way:
            reason.append(way)
            return
        for each in edges:
            if each.holder_id == at and each.account_id not in seen:
                walk(each.account_id, (*way, each), seen | {each.account_id})

    walk(holder, (), frozenset({holder}))
    return reason


def alike(edges: list[Edge], first: int, second: int, parties: set[int]) -> bool:
    """Tell by the words of the rule whether two accounts count as one person."""
    live = [each for each in edges if each.time > NOW - timedelta(days=30)]
    if ways(live, first, second) or ways(live, second, first):
        return True
    for holder in set(IDS) - {first, second}:
        down = [ways(live, holder, first), ways(live, holder, second)]
        takes = any(each.act != MADE for way in itertools.chain(*down) for each in way)
        if all(down) and (holder in parties or takes):
            return True
    return False


@given(EDGES, st.sets(st.sampled_from(IDS)))
def test_the_answers_are_those_of_the_rule_in_its_words(edges: list[Edge], parties: set[int]) -> None:
    persons = Persons(edges, parties, since_of(NOW, 30))

    for first, second in itertools.combinations(IDS, 2):
        reason = persons.same(first, second)
        assert (reason is not None) == alike(edges, first, second, parties), (first, second)
        if reason is not None:
            assert reason.user_ids >= {first, second}
            assert all(each in edges for each in reason.edges)
            assert persons.same(second, first) is not None
            assert reason.edges
