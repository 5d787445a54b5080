"""Event streams of two workers: what they report, how they go on, and when they end."""

import pytest

from tests.features.event_stream.conftest import Place
from tests.features.event_stream.reader import Event
from tests.support.waiting import eventually


def test_a_given_role_is_reported_to_its_holder_and_to_nobody_else(place: Place) -> None:
    lucky, other = place.person(), place.person()
    streams = [place.open(person.log_in()) for person in (lucky, other)]
    for stream in streams:
        first = stream.next()
        assert first is not None
        assert (first.kind, first.data) == ("connected", {"roles": [], "permissions": []})
        assert "\ncontent-type: text/event-stream\r" in stream.head
        assert "\ncache-control: no-store\r" in stream.head
        assert "\nx-accel-buffering: no\r" in stream.head
    lucky.gets_role()
    reported = streams[0].next()
    assert reported is not None
    assert (reported.kind, reported.data) == ("permissions", {"roles": [lucky.name], "permissions": []})
    other.gets_role()
    reported = streams[1].next()
    assert reported is not None
    assert reported.data == {"roles": [other.name], "permissions": []}


def test_a_menu_of_a_held_role_and_a_code_are_reported(place: Place) -> None:
    person = place.person()
    person.gets_role()
    stream = place.open(person.log_in())
    assert stream.next() is not None
    (button,) = place.send("GET", "/api/menu/list?authMark=system:role:list")["items"]
    place.send("PUT", f"/api/role/{person.role_id}/permissions", {"menuIds": [button["parentId"]]})
    reported = stream.next()
    assert reported is not None
    assert (reported.kind, reported.data["permissions"]) == ("permissions", [])
    place.send(
        "PUT", f"/api/role/{person.role_id}/permissions", {"menuIds": [button["id"], button["parentId"]]}
    )
    reported = stream.next()
    assert reported is not None
    assert reported.data["permissions"] == ["system:role:list"]


def test_a_resumed_stream_reports_what_was_missed_once(place: Place) -> None:
    person = place.person()
    token = person.log_in()
    first = place.open(token)
    begun = first.next()
    assert begun is not None
    first.close()
    person.gets_role()
    token = person.log_in("other")
    second = place.open(token, begun.id)
    missed = second.next()
    assert missed is not None
    assert (missed.kind, missed.data["roles"]) == ("permissions", [person.name])
    second.close()
    third = place.open(token, missed.id)
    person.loses_role()
    reported = third.next()
    assert reported is not None
    assert (reported.kind, reported.data["roles"]) == ("permissions", [])
    assert reported.id == begun.id


def test_a_stream_ends_with_its_session_whoever_ends_it(place: Place) -> None:
    people = [place.person() for _ in range(6)]
    tokens = [person.log_in() for person in people]
    streams = [place.open(token) for token in tokens]
    beside = place.open(people[0].log_in("other"))
    for stream in (*streams, beside):
        assert stream.next() is not None
    _, kicked, banned, disabled, again, deleted = people
    place.send("POST", "/api/auth/logout", token=tokens[0])
    place.send("DELETE", f"/api/online/{kicked.id}/web")
    place.send("POST", f"/api/online/{banned.id}/ban", {"reason": "a test"})
    place.send("PUT", f"/api/user/{disabled.id}/status", {"status": "disabled"})
    again.log_in()
    place.send("DELETE", f"/api/user/{deleted.id}")
    ends = [stream.rest()[-1] for stream in streams]
    assert [end.kind for end in ends] == ["end"] * 6
    assert ends[0] == ends[1] == ends[4] == Event("end", {"reason": "session_ended"})
    assert {end.data["reason"] for end in ends} == {"session_ended", "account_unusable"}
    with pytest.raises(TimeoutError):  # the session on another device goes on
        beside.next(within=0.1)
    assert place.open(tokens[0]).status == 401


def test_a_session_has_few_streams_and_each_that_is_closed_makes_room(place: Place) -> None:
    person = place.person()
    token = person.log_in()
    streams = [place.open(token) for _ in range(3)]
    assert [stream.status for stream in streams] == [200] * 3
    refused = place.open(token)
    assert (refused.status, refused.problem["code"]) == (429, "rate_limited")
    assert "\nretry-after: " in refused.head
    assert place.open(person.log_in("other")).status == 200
    streams[0].close()
    assert eventually(lambda: place.open(token).status == 200)


def test_a_key_has_no_stream(place: Place) -> None:
    person = place.person()
    order = {"name": "script", "scopes": ["system:role:list"], "expiresIn": 3600}
    key = place.send("POST", "/api/user/profile/keys", order, token=person.log_in())["key"]
    refused = place.open({"Authorization": f"Bearer {key}"})
    assert (refused.status, refused.problem["detailCode"]) == (409, "stream_without_session")


@pytest.mark.parametrize(
    "given", ["x", "0", "0" * 31, "0" * 33, "A" * 32, "0" * 32 + ", " + "0" * 32, "9" * 5000, "%0d%0a", "../"]
)
def test_an_id_of_another_form_is_refused(place: Place, given: str) -> None:
    refused = place.open(place.administrator, given)
    assert (refused.status, refused.problem["detailCode"]) == (400, "last_event_id_malformed")
