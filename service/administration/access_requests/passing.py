"""Whether the stages of a request have passed: each approver counts in one stage, once."""

from collections.abc import Collection, Mapping, Sequence


def places(entitled: Mapping[int, Collection[int]], needed: Sequence[int]) -> dict[int, int]:
    """Return in which stage, from 1, each approver counts, so that as many approvals as possible count.

    ``entitled`` are the stages that each approver may decide, by user id; ``needed`` the approvals that each
    stage takes. Who could count in two stages counts where others can't: a maximum matching of approvers to
    the approvals that are needed, by augmenting paths.
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


def have_passed(entitled: Mapping[int, Collection[int]], needed: Sequence[int]) -> bool:
    """True if every stage has all the approvals that it takes; the arguments are those of ``places``."""
    return len(places(entitled, needed)) == sum(needed)
