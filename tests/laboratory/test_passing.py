"""Which approvals make the stages of a request pass."""

from collections.abc import Sequence
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from service.laboratory.findings.passing import have_passed, places

STAGES = st.lists(st.integers(1, 3), min_size=1, max_size=3)


def most_by_trying_all(entitled: dict[int, set[int]], needed: Sequence[int]) -> int:
    """Return how many approvals can count, by trying every place of every approver."""
    best = 0
    for chosen in product(*([0, *stages] for stages in entitled.values())):
        counts = [chosen.count(stage) for stage in range(1, len(needed) + 1)]
        if all(count <= most for count, most in zip(counts, needed, strict=True)):
            best = max(best, sum(counts))
    return best


@given(STAGES, st.data())
def test_as_many_approvals_count_as_can_and_each_person_counts_once(
    needed: list[int], data: st.DataObject
) -> None:
    stages = st.sets(st.integers(1, len(needed)))
    entitled = data.draw(st.dictionaries(st.integers(1, 6), stages, max_size=6))

    counted = places(entitled, needed)

    assert all(stage in entitled[user_id] for user_id, stage in counted.items())
    assert all([*counted.values()].count(stage) <= most for stage, most in enumerate(needed, 1))
    assert len(counted) == most_by_trying_all(entitled, needed)
    assert have_passed(entitled, needed) == (len(counted) == sum(needed))


def test_who_could_count_in_two_stages_leaves_the_place_that_another_needs() -> None:
    assert places({1: {1, 2}, 2: {1}}, [1, 1]) == {1: 2, 2: 1}
    assert not have_passed({1: {1, 2}}, [1, 1])
    assert not have_passed({1: {1}, 2: {1}}, [1, 1])
    assert not have_passed({}, [1])
