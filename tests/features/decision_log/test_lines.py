"""Lines of the decision log that are put together from parts are those of the whole event."""

import json

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from service.features.decision_log.decision_event import (
    AskedRoute,
    EvaluationEvent,
    answered_question,
    encoded,
)
from service.features.decision_log.event_lines import line_of, of_answer, of_codes, of_request, of_subject

TEXTS = st.text(max_size=6) | st.sampled_from(['","request_id":""', '"', "\\", "\u2028", "ä", "\x7f", "\x01"])
NAMES = st.lists(TEXTS, max_size=3).map(tuple)
CODES = st.none() | st.frozensets(TEXTS, max_size=3)
EVENTS = st.builds(
    EvaluationEvent,
    time=TEXTS,
    outcome=st.sampled_from(["allow", "deny"]),
    reason=st.sampled_from(["opened", "not_held"]),
    decision=st.sampled_from(["", "r1-00000000-000000000000"]),
    revision=st.integers(0, 10**9),
    own_digest=st.just("0" * 64),
    request_id=TEXTS,
    trace_id=TEXTS,
    asked_by=st.integers(0, 10**18),
    subject_type=st.sampled_from(["", "user", "token"]),
    user_id=st.none() | st.integers(1, 10**18),
    roles=NAMES,
    codes=CODES,
    satisfied=CODES,
    layer=st.none() | TEXTS,
    object=st.none() | TEXTS,
    line=st.none() | TEXTS,
    code=st.none() | TEXTS,
    required=NAMES,
    asked=st.none() | st.builds(AskedRoute, TEXTS, TEXTS, TEXTS, CODES),
)


def _read(line: bytes) -> object:
    """Return the members in order; one character may be written in two ways."""
    return json.loads(line, object_pairs_hook=list)


@given(EVENTS)
def test_the_parts_of_a_line_are_together_that_of_the_event(event: EvaluationEvent) -> None:
    blank = replace(
        event,
        time="",
        request_id="",
        trace_id="",
        asked_by=0,
        subject_type="",
        user_id=None,
        roles=(),
        codes=None,
    )
    request = of_request(event.time, event.request_id, event.trace_id, event.asked_by)
    subject = of_subject(event.subject_type, event.user_id, event.roles)
    line = b"".join(line_of(request, of_answer(blank), subject, of_codes(event.codes)))
    assert _read(line) == _read(encoded(event))
    assert answered_question(line) == event
    assert line.isascii()
    assert line.count(b"\n") == 1
