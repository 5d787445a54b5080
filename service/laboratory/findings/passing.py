"""Count approvals of the stages of a request: each person counts once, in one stage."""

from collections.abc import Collection, Iterator, Mapping, Sequence


def places(
    entitled: Mapping[int, Collection[int]], needed: Sequence[int], alike: Collection[frozenset[int]] = ()
) -> dict[int, int]:
    """Return in which stage, from 1, each approver counts, so that as many approvals as possible count.

    ``entitled`` are the stages that each approver may decide, by user id; ``needed`` the approvals that each
    stage takes; ``alike`` the pairs of approvers that are one person, of whom one counts.
    """
    best: dict[int, int] = {}
    for chosen in _apart(frozenset(entitled), alike):
        counted = _matched({user_id: entitled[user_id] for user_id in chosen}, needed)
        if len(counted) > len(best):
            best = counted
        if len(best) == sum(needed):
            break
    return best


def _apart(user_ids: frozenset[int], alike: Collection[frozenset[int]]) -> Iterator[frozenset[int]]:
    """Yield sets of approvers in which each person occurs once; the largest sets are among them.

    Branches on the approver who equals the most others: included without them, or left out.
    """
    near: dict[int, set[int]] = {}
    for pair in alike:
        if pair <= user_ids:
            for user_id in pair:
                near.setdefault(user_id, set()).update(pair - {user_id})
    if not near:
        yield user_ids
        return
    chosen = max(sorted(near), key=lambda user_id: len(near[user_id]))
    yield from _apart(user_ids - near[chosen], alike)
    yield from _apart(user_ids - {chosen}, alike)


def _matched(entitled: Mapping[int, Collection[int]], needed: Sequence[int]) -> dict[int, int]:
    """Return the same for approvers who are all different persons.

    The result is a maximum matching of approvers to the needed approvals, by augmenting paths. An approver of
    two stages counts where other approvers cannot.
    """
    counted: dict[int, list[int]] = {stage: [] for stage in range(1, len(needed) + 1)}

    def place(user_id: int, tried: set[int]) -> bool:
        for stage in sorted(entitled[user_id]):
            if stage in tried:
                continue
            tried.add(stage)
            if len(counted[stage]) < needed[stage - 1]:
                counted[stage].append(user_id)
                return True
            for other in counted[stage]:
                if place(other, tried):
                    counted[stage].remove(other)
                    counted[stage].append(user_id)
                    return True
        return False

    for user_id in sorted(entitled):
        place(user_id, set())
    return {user_id: stage for stage, users in counted.items() for user_id in users}


def have_passed(
    entitled: Mapping[int, Collection[int]], needed: Sequence[int], alike: Collection[frozenset[int]] = ()
) -> bool:
    """True if every stage has all the approvals that it takes; the arguments are those of ``places``."""
    return len(places(entitled, needed, alike)) == sum(needed)
