"""Workers that decide by another own part of the policy are told."""

from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from service.authz.engine.rules import PolicyError
from service.authz.publishing.shipped import configured, read_shipped, require_allowed
from service.authz.publishing.static_policies import StaticPolicies
from service.records.published.policy_workers import PolicyWorker
from service.settings import load

OURS, THEIRS, THIRD = "a" * 64, "b" * 64, "c" * 64


def workers(**digests: str | None) -> list[PolicyWorker]:
    return [PolicyWorker(name, 1, None, datetime.now(UTC), digest) for name, digest in digests.items()]


def test_a_difference_is_told_once_for_each_change_and_so_is_its_end() -> None:
    static_policies = StaticPolicies(OURS)
    with capture_logs() as lines:
        static_policies.observe(workers(a=OURS))
        static_policies.observe(workers(a=OURS, b=THEIRS))
        static_policies.observe(workers(a=OURS, b=THEIRS, c=THEIRS))
        assert (static_policies.differing, static_policies.not_allowed) == (2, 0)
        static_policies.observe(workers(a=OURS, b=THEIRS, c=None))
        static_policies.observe(workers(a=OURS))

    assert [(line["log_level"], line["event_type"]) for line in lines] == [
        ("error", "security"),
        ("error", "security"),
        ("info", "security"),
    ]
    assert lines[0]["workers"] == {"b": THEIRS}
    assert lines[1]["workers"] == {"b": THEIRS, "c": None}
    assert static_policies.differing == 0


def test_static_policies_that_the_setting_names_are_counted_and_only_others_raise_the_alarm() -> None:
    static_policies = StaticPolicies(OURS, (OURS, THEIRS))
    with capture_logs() as lines:
        static_policies.observe(workers(a=OURS, b=THEIRS))
        assert (static_policies.differing, static_policies.not_allowed, lines) == (1, 0, [])
        static_policies.observe(workers(a=OURS, b=THEIRS, c=THIRD, d=None))

    assert (static_policies.differing, static_policies.not_allowed) == (3, 2)
    (line,) = lines
    assert (line["log_level"], line["workers"]) == ("error", {"c": THIRD, "d": None})
    assert "policy.own_digests" in line["reason"]


def test_a_node_whose_own_part_is_not_named_is_refused_in_words() -> None:
    require_allowed(OURS, ())
    require_allowed(OURS, (THEIRS, OURS))
    with pytest.raises(PolicyError, match=f"{OURS}.*policy.own_digests"):
        require_allowed(OURS, (THEIRS,))


def test_the_setting_is_held_against_the_files_that_are_configured() -> None:
    digest = read_shipped().digest
    named = load({"PORTCULLIS_CONFIG": "", "PORTCULLIS_POLICY__OWN_DIGESTS": f"{THEIRS}, {digest}"})
    other = load({"PORTCULLIS_CONFIG": "", "PORTCULLIS_POLICY__OWN_DIGESTS": THEIRS})

    assert configured(named).digest == digest
    with pytest.raises(PolicyError, match=digest):
        configured(other)
