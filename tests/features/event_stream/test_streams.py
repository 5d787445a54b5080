"""Event streams of two workers: what they report, how they go on, and when they end."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from socket import SHUT_WR

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
    given, rights = streams[0].find("role.given", "permissions")
    assert rights.data == {"roles": [lucky.name], "permissions": []}
    assert (given.data["id"][:4], given.data["data"]["roleCode"]) == ("msg_", lucky.name)
    assert "user" not in repr(given)
    other.gets_role()
    given, rights = streams[1].find("role.given", "permissions")
    assert rights.data == {"roles": [other.name], "permissions": []}
    assert given.data["data"]["roleCode"] == other.name


def test_a_menu_of_a_held_role_and_a_code_are_reported(place: Place) -> None:
    person = place.person()
    person.gets_role()
    stream = place.open(person.log_in())
    assert stream.next() is not None
    (button,) = place.send("GET", "/api/menu/list?authMark=system:role:list")["items"]
    place.send("PUT", f"/api/role/{person.role_id}/permissions", {"menuIds": [button["parentId"]]})
    (rights,) = stream.find("permissions")
    assert rights.data["permissions"] == []
    place.send(
        "PUT", f"/api/role/{person.role_id}/permissions", {"menuIds": [button["id"], button["parentId"]]}
    )
    changed, rights = stream.find("role.codes_changed", "permissions")
    assert rights.data["permissions"] == ["system:role:list"]
    assert changed.data["data"]["added"] == ["system:role:list"]


def test_a_resumed_stream_reports_what_was_missed_once(place: Place) -> None:
    person, other = place.person(), place.person()
    token = person.log_in()
    first = place.open(token)
    begun = first.next()
    assert begun is not None
    first.close()
    person.gets_role()
    other.gets_role()
    person.loses_role()
    person.gets_role()
    token = person.log_in()
    second = place.open(token, begun.id)
    missed = [event for event in (second.next() for _ in range(5)) if event is not None]
    assert [event.kind for event in missed] == [
        "role.given",
        "role.taken",
        "role.given",
        "permissions",
        "sessions",
    ]
    given, taken, again, permissions, sessions = missed
    assert taken.data["data"]["assignmentId"] == given.data["data"]["assignmentId"]
    assert again.data["data"]["roleCode"] == person.name
    assert permissions.data["roles"] == [person.name]
    second.close()
    with place.open(token, taken.id) as third:  # the same events have the same ids
        repeated = third.next()
        assert repeated is not None
        assert repeated.data == again.data
    with place.open(token, sessions.id) as last:
        person.loses_role()
        taken, permissions = last.find("role.taken", "permissions")
        assert permissions.data["roles"] == []
        assert taken.data["data"]["assignmentId"] == again.data["data"]["assignmentId"]


def test_an_id_that_was_made_for_another_account_begins_a_new_stream(place: Place) -> None:
    person, other = place.person(), place.person()
    token = other.log_in()
    with place.open(person.log_in()) as stream, place.open(token) as own:
        of_person, begun = stream.next(), own.next()
    assert of_person is not None
    assert begun is not None
    other.gets_role()
    token = other.log_in()
    forged = begun.id[:40] + ("A" if begun.id[40] != "A" else "B") + begun.id[41:]
    for last in (of_person.id, forged):
        with place.open(token, last) as stream:
            first = stream.next()
            assert first is not None
            assert (first.kind, first.data["roles"]) == ("connected", [other.name])


def test_other_sessions_of_the_account_are_reported_when_they_begin_and_end(place: Place) -> None:
    person, other = place.person(), place.person()
    streams = [place.open(each.log_in()) for each in (person, other)]
    for stream in streams:
        assert stream.next() is not None
    token = person.log_in("phone")
    (reported,) = streams[0].find("sessions")
    assert [each["device"] for each in reported.data] == ["web", "phone"]
    place.send("POST", "/api/auth/logout", token=token)
    (reported,) = streams[0].find("sessions")
    assert [each["device"] for each in reported.data] == ["web"]
    with pytest.raises(TimeoutError):
        streams[1].next(within=0.1)


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
    (reported,) = beside.find("sessions")  # the session on another device goes on
    assert [each["device"] for each in reported.data] == ["other"]
    with pytest.raises(TimeoutError):
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


def test_of_a_hundred_connections_at_once_a_session_gets_its_few_streams(place: Place) -> None:
    token = place.person().log_in()
    with ThreadPoolExecutor(20) as threads:
        streams = list(threads.map(lambda _: place.open(token), range(100)))
    statuses = Counter(stream.status for stream in streams)
    assert statuses == {200: 3, 429: 97}
    for stream in streams:
        if stream.status == 200:
            stream.socket.shutdown(SHUT_WR)  # a half-closed connection is over
    assert eventually(lambda: place.open(token).status == 200)


def test_a_key_has_no_stream(place: Place) -> None:
    person = place.person()
    order = {"name": "script", "scopes": ["system:role:list"], "expiresIn": 3600}
    key = place.send("POST", "/api/user/profile/keys", order, token=person.log_in())["key"]
    refused = place.open({"Authorization": f"Bearer {key}"})
    assert (refused.status, refused.problem["detailCode"]) == (409, "stream_without_session")


@pytest.mark.parametrize(
    "given",
    ["x", "0", "0" * 32, "A" * 90, "A" * 90 + "B", "A" * 92, "A" * 90 + "+", "9" * 5000, "%0d%0a", "../"],
)
def test_an_id_of_another_form_is_refused(place: Place, given: str) -> None:
    refused = place.open(place.administrator, given)
    assert (refused.status, refused.problem["detailCode"]) == (400, "last_event_id_malformed")
