"""The part of the rights that a renewal compares is the same, however many records there are."""

from hypothesis import example, given
from hypothesis import strategies as st

from service.features.follower.protocol import Checked
from service.features.follower.state import ids_between

NOUNS = st.sampled_from(["key", "role", "user"])
PLACES = st.tuples(NOUNS, st.integers(0, 40))


@given(st.sets(st.integers(1, 40)), NOUNS, PLACES, st.none() | PLACES)
@example(set(range(1, 40)), "user", ("user", 5), ("user", 9))
@example({1, 6, 40}, "user", ("user", 5), ("user", 39))
@example({1, 6}, "role", ("key", 5), ("user", 3))
@example({1, 6}, "user", ("user", 5), None)
def test_the_ids_of_a_part_are_those_behind_its_beginning_up_to_its_end(
    ids: set[int], noun: str, after: tuple[str, int], last: tuple[str, int] | None
) -> None:
    within = [each for each in sorted(ids) if after < (noun, each) and (last is None or (noun, each) <= last)]
    assert ids_between(ids, noun, Checked(after, last, "")) == within
