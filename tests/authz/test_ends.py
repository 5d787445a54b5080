"""Lines that end: what is decided before and from an instant, and what such a line may be."""

from datetime import UTC, datetime, timedelta

import casbin
import msgspec
import pytest

from service.authz.engine.policy import Policy
from service.authz.engine.predicates import ANONYMOUS, PREDICATES
from service.authz.engine.rules import PolicyError, Rule, as_csv, code_fault
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import Shipped
from service.features.decision_log.decision_event import DecisionEvent
from service.features.policy_tests.replay import replay
from service.kernel.codes import HeldCodes
from service.kernel.origin import ObjectQuestion
from service.kernel.services import with_end, word_and_end
from tests.policies.stock import MODEL
from tests.support.cases import with_each

TEXT = MODEL.read_text("utf-8")
FIRST = datetime(2026, 12, 31, tzinfo=UTC)
LATER = FIRST + timedelta(days=1)
ENDS = (FIRST.timestamp(), LATER.timestamp())
UNTIL_FIRST = "@anyone until 2026-12-31T00:00:00Z"
UNTIL_LATER = "@login until 2027-01-01T00:00:00Z"
RULES = (
    Rule("service", "orders", "@nobody"),
    Rule("resource", "orders @unregistered", UNTIL_LATER),
    Rule("resource", "orders GET /orders/{id}", "@anyone"),
    Rule("resource", "orders GET /orders/7", UNTIL_FIRST),
    Rule("resource", "orders GET /orders/8", "orders:read"),
    Rule("resource", "orders GET /orders/8", UNTIL_FIRST),
)
READER = HeldCodes(["orders:read"])


@pytest.fixture
def policy() -> Policy:
    return Policy(TEXT, RULES, {}, 12)


def answer(policy: Policy, path: str, held: HeldCodes | None = None) -> bool:
    return policy.judge_route("orders", "GET", path, held).allowed


def test_a_line_is_open_before_its_end_and_not_from_it_on(policy: Policy) -> None:
    assert answer(policy.at(ENDS[0] - 0.001), "/orders/7")
    assert not answer(policy.at(ENDS[0]), "/orders/7")


def test_what_else_opens_an_object_stays(policy: Policy) -> None:
    ended = policy.at(ENDS[0])
    assert answer(ended, "/orders/8", READER)
    assert not answer(ended, "/orders/8")


def test_a_resource_whose_line_has_ended_does_not_become_one_of_a_wider_pattern(policy: Policy) -> None:
    assert answer(policy.at(ENDS[1]), "/orders/9")
    assert not answer(policy.at(ENDS[1]), "/orders/7")
    assert policy.at(ENDS[1]).rules.codes("resource", "orders GET /orders/7") == ("@nobody",)


def test_each_end_comes_at_its_own_instant(policy: Policy) -> None:
    between = policy.at(ENDS[0])
    assert answer(between, "/rest", HeldCodes([]))
    assert not answer(between, "/rest")
    assert not answer(policy.at(ENDS[1]), "/rest", HeldCodes([]))


def test_a_policy_is_the_same_whichever_way_an_instant_is_reached(policy: Policy) -> None:
    stepwise = policy.at(ENDS[0]).at(ENDS[1])
    assert list(stepwise.rules) == list(policy.at(ENDS[1]).rules)
    assert list(stepwise.at(0).rules) == list(policy.rules)
    assert stepwise.at(ENDS[1] + 1) is stepwise


def test_an_id_tells_how_many_ends_had_passed(policy: Policy) -> None:
    ids = [policy.at(at).judge_route("orders", "GET", "/orders/7", None).id for at in (0, *ENDS)]
    assert [each.partition("-")[0] for each in ids] == ["r12", "r12.1", "r12.2"]
    assert len({each.partition("-")[2] for each in ids}) == 1


def test_it_is_known_when_the_line_that_decides_ends(policy: Policy) -> None:
    def until(path: str, held: HeldCodes | None = None, at: float = 0) -> datetime | None:
        now = policy.at(at)
        return now.until(now.judge_route("orders", "GET", path, held).line)

    assert (until("/orders/7"), until("/orders/9")) == (FIRST, None)
    assert (until("/orders/8"), until("/orders/8", READER)) == (FIRST, FIRST)
    assert until("/rest", HeldCodes([])) == LATER
    assert until("/rest", HeldCodes([]), ENDS[0]) == LATER
    assert until("/rest", HeldCodes([]), ENDS[1]) is None
    assert until("/orders/8", READER, ENDS[0]) is None


def test_a_word_ends_with_its_last_line_and_not_while_a_line_without_an_end_has_it() -> None:
    def until(*codes: str) -> datetime | None:
        rules = [Rule("service", "orders", "@nobody"), *(Rule("resource", "orders GET /x", c) for c in codes)]
        policy = Policy(TEXT, rules)
        return policy.until(policy.judge_route("orders", "GET", "/x", None).line)

    assert until(UNTIL_FIRST, "@anyone until 2027-01-01T00:00:00Z") == LATER
    assert until("@anyone", UNTIL_FIRST) is None


def test_a_plain_casbin_decides_by_the_lines_that_are_in_force(policy: Policy) -> None:
    for instant in (0.0, *ENDS):
        now = policy.at(instant)
        model = casbin.Enforcer.new_model(text=TEXT)
        for line in as_csv(now.rules).splitlines():
            model.add_policy("p", "p", line.removeprefix("p, ").split(", "))
        plain = casbin.Enforcer(model)
        for name, predicate in PREDICATES.items():
            plain.add_function(name, predicate)
        for path in ("/orders/7", "/orders/8", "/orders/9", "/rest"):
            for held in (None, HeldCodes([]), READER):
                decided = now.judge_route("orders", "GET", path, held)
                asked = ANONYMOUS if held is None else held
                assert plain.enforce(decided.layer, decided.object, asked) == decided.allowed


def test_the_policy_in_force_ends_lines_by_its_clock_and_without_any_event() -> None:
    now = ENDS[0] - 1
    live = LivePolicy(Shipped(TEXT, (), ()), None, lambda: now)  # type: ignore[arg-type]  # it judges nothing here
    live.offer(Policy(TEXT, RULES, {}, 12))
    assert answer(live.current, "/orders/7")
    before = live.current
    now = ENDS[0]
    assert not answer(live.current, "/orders/7")
    assert live.current is live.current
    # The clock of the store was ahead, and has been corrected.
    now = ENDS[0] - 1
    assert list(live.current.rules) == list(before.rules)


@with_each(
    ("layer", "name", "code"),
    [
        ("resource", "GET /api/report", UNTIL_FIRST),
        ("resource", "@unregistered", UNTIL_FIRST),
        ("endpoint", "GET /api/report", UNTIL_FIRST),
        ("assurance", "resource orders GET /x", UNTIL_FIRST),
        ("resource", "orders GET /x", "@nobody until 2026-12-31T00:00:00Z"),
        ("resource", "orders GET /x", "orders:read until 2026-12-31T00:00:00Z"),
        ("resource", "orders GET /x", "@anyone until 2026-12-31T00:00:00+00:00"),
        ("resource", "orders GET /x", "@anyone until 2026-12-31T00:00:00.5Z"),
        ("resource", "orders GET /x", "@anyone until 2026-02-30T00:00:00Z"),
        ("resource", "orders GET /x", "@anyone until 2026-12-31T24:00:00Z"),
        ("resource", "orders GET /x", "@anyone until 2026-12-31 00:00:00Z"),
        ("resource", "orders GET /x", f"{UNTIL_FIRST} until 2026-12-31T00:00:00Z"),
        ("resource", "orders GET /x", "@anyone until "),
    ],
)
def test_only_public_access_to_other_services_ends_and_at_whole_seconds(
    layer: str, name: str, code: str
) -> None:
    assert code_fault(layer, name, code) is not None


def test_an_end_is_written_in_one_way() -> None:
    moscow = FIRST.astimezone(tz=None)
    assert with_end("@anyone", moscow) == UNTIL_FIRST
    assert word_and_end(UNTIL_FIRST) == ("@anyone", FIRST)
    assert word_and_end("@anyone") == ("@anyone", None)


def test_a_word_with_an_end_is_never_good_because_it_was_good_elsewhere() -> None:
    with pytest.raises(PolicyError):
        Policy(TEXT, RULES).rules.changed(
            {("resource", "orders GET /x"): (UNTIL_FIRST,), ("resource", "GET /x"): (UNTIL_FIRST,)}
        )


def event(decision: str, moment: datetime, revision: int) -> bytes:
    """Return an event in which a visitor was let pass to the resource of another service."""
    return msgspec.json.encode(
        DecisionEvent(
            time=moment.isoformat(),
            outcome="allow",
            decision=decision,
            revision=revision,
            own_digest="",
            request_id="",
            method="GET",
            route="/public",
            layer="resource",
            object="orders GET /orders/7",
            objects=(ObjectQuestion("resource", "orders GET /orders/7"),),
        )
    )


def test_a_replay_decides_as_at_the_time_of_the_event_or_by_the_id_of_its_own_decision() -> None:
    open_lines = (Rule("resource", "@no-session", "@anyone"), Rule("endpoint", "GET /public", "@anyone"))
    whole = Policy(TEXT, (*RULES, *open_lines), {}, 12)
    before, after = FIRST - timedelta(seconds=1), FIRST + timedelta(seconds=1)
    other, own = "r11-00000000-000000000000", "r12-00000000-000000000000"

    def differing(decision: str, moment: datetime) -> int:
        # Whichever instant the policy itself is at.
        (first, second) = (
            replay(each, [event(decision, moment, 11)]).differing for each in (whole, whole.at(ENDS[1]))
        )
        assert first == second
        return first

    assert differing(other, before) == 0
    assert differing(other, after) == 1
    assert differing(own, after) == 0
    assert differing(own.replace("r12-", "r12.1-"), before) == 1
