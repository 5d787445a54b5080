"""Where a menu may stand, and what is seen of the tree: without any store."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.administration.menu_edits import MAX_DEPTH, SeenMenu, SeenTree, place_fault, seen
from service.authz.engine.policy import Policy
from service.authz.engine.rules import GRANT, Rule
from service.kernel.codes import HeldCodes
from service.records.menus import Menu
from tests.policies.stock import MODEL

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def page(number: int, parent: int | None = None, *, enabled: bool = True) -> Menu:
    return Menu(
        id=number,
        parent_id=parent,
        menu_type="Menu",
        title=f"m{number}",
        bit_position=None,
        sort=0,
        enabled=enabled,
        version=1,
        create_time=NOW,
        update_time=NOW,
        updated_by=None,
    )


def button(number: int, parent: int | None, code: str, *, enabled: bool = True) -> Menu:
    return Menu(
        id=number,
        parent_id=parent,
        menu_type="Button",
        title=f"b{number}",
        auth_mark=code,
        bit_position=number,
        sort=0,
        enabled=enabled,
        version=1,
        create_time=NOW,
        update_time=NOW,
        updated_by=None,
    )


def shape(tree: SeenTree | list[SeenMenu]) -> object:
    menus = tree.menus if isinstance(tree, SeenTree) else tree
    return {menu.id: (menu.buttons, shape(menu.children)) for menu in menus}


def depth(parents: dict[int, int | None], at: int) -> int:
    """Return the level of a menu; never ends in a cycle, so that the test would."""
    parent = parents[at]
    return 1 if parent is None else 1 + depth(parents, parent)


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=120))
def test_no_sequence_of_moves_makes_a_cycle_or_a_tree_that_is_too_deep(moves: list[tuple[int, int]]) -> None:
    parents: dict[int, int | None] = {}
    for number, target in moves:
        menu_id = number if number in parents else None
        if target not in parents:
            parents[number] = None
        elif place_fault(parents, menu_id, target) is None:
            parents[number] = target
        assert all(depth(parents, node) <= MAX_DEPTH for node in parents)


@given(st.lists(st.integers(0, 8), min_size=9, max_size=9), st.integers(0, 8), st.integers(0, 8))
def test_a_move_is_refused_exactly_when_it_would_make_a_cycle(
    above: list[int], moved: int, target: int
) -> None:
    parents: dict[int, int | None] = {
        number: parent if parent < number else None for number, parent in enumerate(above)
    }
    at: int | None = target
    below = False
    while at is not None:
        below = below or at == moved
        at = parents[at]

    assert (place_fault(parents, moved, target) is not None) == below


def test_a_tree_that_was_forced_into_a_cycle_is_walked_to_an_end() -> None:
    assert place_fault({1: 2, 2: 1, 3: None}, 3, 1) is not None
    assert place_fault({1: 2, 2: 1, 3: None}, 1, 3) is not None
    assert shape(seen([page(1, 2), page(2, 1)], {1}, holding())) == {}


@pytest.mark.parametrize("height", [1, 3, MAX_DEPTH])
def test_a_menu_moves_with_what_is_below_it_only_where_all_of_it_has_room(height: int) -> None:
    parents: dict[int, int | None] = {number: number - 1 or None for number in range(1, MAX_DEPTH + 1)}
    parents |= {100 + number: 99 + number if number else None for number in range(height)}

    for level in range(1, MAX_DEPTH + 1):
        assert (place_fault(parents, 100, level) is None) == (level + height <= MAX_DEPTH)
    assert (place_fault(parents, None, MAX_DEPTH - 1), place_fault(parents, None, MAX_DEPTH) is None) == (
        None,
        False,
    )


def holding(*codes: str) -> Callable[[str], bool]:
    """Say what is held of the codes of the trees, by the layer grant of the shipped model."""
    policy = Policy(MODEL.read_text("utf-8"), [Rule(GRANT, code, code) for code in CODES])
    held = HeldCodes(codes)
    return lambda code: policy.judge(GRANT, code, held).allowed


CODES = ("a:list", "a:edit", "b:list", "c:top", "x", "y")
TREE = [
    page(1),
    page(2, 1),
    page(3, 1),
    button(4, 2, "a:list"),
    button(5, 2, "a:edit"),
    button(6, 3, "b:list"),
    button(7, None, "c:top"),
]


def test_menus_are_seen_with_those_above_and_the_buttons_that_are_held() -> None:
    assert shape(seen(TREE, {2}, holding())) == {1: ([], {2: ([], {})})}
    assert shape(seen(TREE, {4}, holding("a:list"))) == {1: ([], {2: (["a:list"], {})})}
    assert shape(seen(TREE, {7}, holding("c:top"))) == {}
    assert shape(seen(TREE, set(), holding("*"))) == {}


def test_the_codes_of_all_buttons_are_told_and_those_at_the_top_by_themselves() -> None:
    tree = seen([*TREE, button(8, None, "x", enabled=False)], {7}, holding("c:top", "a:*", "x"))
    assert (tree.menus, tree.buttons) == ([], ["c:top"])
    assert tree.codes == ["a:edit", "a:list", "c:top"]


def test_a_wildcard_shows_the_buttons_of_the_menus_that_are_given_and_no_further_menu() -> None:
    tree = shape(seen(TREE, {2}, holding("a:*")))
    assert tree == {1: ([], {2: (["a:list", "a:edit"], {})})}


def test_what_is_disabled_is_not_seen_nor_what_is_below_it() -> None:
    tree = [
        page(1),
        page(2, 1, enabled=False),
        page(3, 2),
        button(4, 3, "x"),
        button(5, 1, "y", enabled=False),
    ]

    assert shape(seen(tree, {1, 3, 4, 5}, holding("x", "y"))) == {1: ([], {})}
    assert shape(seen(tree, {5}, holding())) == {}


def test_an_id_that_is_gone_shows_nothing() -> None:
    assert shape(seen(TREE, {99}, holding())) == {}
