"""Operators see how destinations do, send dead letters again, and forget destinations."""

import asyncio
import json
from argparse import ArgumentParser
from dataclasses import replace
from datetime import date, datetime

import pytest
from structlog.testing import capture_logs

from service.audit.key_chain import Chain
from service.features.audit_proof import store_months as months
from service.features.audit_proof.maintenance import Upkeep
from service.features.export.checks import export
from service.features.export.commands import COMMANDS
from service.features.export.jobs import forget_dead_letters
from service.kernel.operator_error import OperatorError
from service.operator.findings import Installation
from service.records.database.server_facts import ServerFacts
from service.records.installation.schema_revision import SchemaStanding
from service.settings import Destination, Export, Settings
from service.settings.destinations import Destinations
from tests.features.export.conftest import SECRET, Place
from tests.features.export.receiver import HttpReceiver, answering, poisoned
from tests.features.export.test_delivery import drained
from tests.features.operations.doctor.conftest import no_routes


async def run(place: Place, command: str, *arguments: str, to: Destination | None = None) -> None:
    """Run a command with ``to`` as the only destination of its settings."""
    table = {} if to is None else {to.name: {"url": to.url, "secret": SECRET, "logs": [*to.logs]}}
    environ = {
        "PORTCULLIS_CONFIG": "",
        "DATABASE_URL": place.url,
        "REDIS_URL": "redis://127.0.0.1:1",
        "JWT_SECRET": "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR",
        "PORTCULLIS_EXPORT__DESTINATIONS": json.dumps(table),
    }
    parser = ArgumentParser()
    add_arguments, run_command = COMMANDS[command]
    add_arguments(parser)
    await asyncio.to_thread(run_command, parser.parse_args(arguments), environ)


async def test_a_dead_letter_is_listed_and_sent_again_once_the_receiver_takes_it(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    async with HttpReceiver(answer=poisoned(400)).listening() as receiver:
        to = place.destination(receiver.url)
        delivery = await place.delivery(to)
        written = await place.write("a", "poison", "c")
        await drained(delivery)
        await run(place, "dead-letters", to.name, "--json", to=to)
        (letter,) = json.loads(capsys.readouterr().out)["items"]
        assert (letter["id"], letter["reason"]) == (written[1], "the receiver responds with 400")
        assert letter["entry"]["entry"]["action"] == "poison"
        await run(place, "dead-letters", to=to)
        assert written[1] in capsys.readouterr().out

        await run(place, "retry", to.name, to=to)
        assert (
            "0 dead letters sent; it still rejects 1: the receiver responds with 400"
        ) in capsys.readouterr().out
        receiver.answer = answering(200)
        await run(place, "retry", to.name, to=to)
        assert "1 dead letter sent\n" in capsys.readouterr().out
        assert sorted(receiver.taken) == sorted(written)
        assert (await place.state(to)).dead_letters == 0


async def test_a_dead_letter_that_can_not_be_read_does_not_keep_the_others_from_being_sent(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    async with HttpReceiver(answer=poisoned(400)).listening() as receiver:
        to = place.destination(receiver.url)
        delivery = await place.delivery(to)
        broken, good, _ = await place.write("poison", "poison too", "c")
        await drained(delivery)
        await place.execute(
            "UPDATE sys.export_dead_letter SET entry = replace(entry, :status, :huge) WHERE event_id = :id",
            status='"status":200',
            huge=f'"status":{"9" * 5000}',
            id=broken,
        )
        receiver.answer = answering(204)
        await run(place, "retry", to.name, to=to)
    assert receiver.taken[-1] == good
    said_then = capsys.readouterr().out
    assert "1 dead letter sent; it still rejects 1: the stored entry can't be read" in said_then


async def test_retry_makes_the_next_attempt_due_and_says_when_a_receiver_is_away(place: Place) -> None:
    async with HttpReceiver(answer=answering(503, Retry_After="600")).listening() as receiver:
        to = place.destination(receiver.url)
        delivery = await place.delivery(to)
        await place.write("a")
        await delivery.step()
        await run(place, "retry", to.name, to=to)
        assert (await place.state(to)).due_in is None
        receiver.answer = poisoned(400)
        await place.write("poison")
        await drained(delivery)
    with pytest.raises(OperatorError, match="can't be reached"):
        await run(place, "retry", to.name, to=to)
    with pytest.raises(OperatorError, match="no destination 'other'"):
        await run(place, "retry", "other", to=to)


async def test_the_status_says_what_fails_and_what_is_not_configured_any_more(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    to = place.destination("http://127.0.0.1:9/hook")
    delivery = await place.delivery(to)
    await place.write("a")
    await delivery.step()
    await run(place, "status", "--json", to=to)
    status = {
        destination["name"]: destination for destination in json.loads(capsys.readouterr().out)["items"]
    }[to.name]
    assert (status["configured"], status["failures"], status["sent"]) == (True, 1, 0)
    assert "can't be reached" in status["reason"]
    await run(place, "status")
    (line,) = (row for row in capsys.readouterr().out.splitlines() if row.startswith(to.name))
    assert line.endswith("no longer in the settings")


async def test_only_a_destination_that_is_not_configured_can_be_forgotten(place: Place) -> None:
    to = place.destination("http://127.0.0.1:9/hook")
    delivery = await place.delivery(to)
    with pytest.raises(OperatorError, match="remove it there first"):
        await run(place, "forget", to.name, to=to)
    await delivery.close()
    await run(place, "forget", to.name)
    with pytest.raises(OperatorError, match="no stored state"):
        await run(place, "forget", to.name)


async def test_a_log_that_a_destination_no_longer_exports_is_named_and_can_be_forgotten(place: Place) -> None:
    await place.execute("DELETE FROM sys.export_destination")
    to = place.destination("http://127.0.0.1:9/hook", logs=("logins", "decisions"))
    await (await place.delivery(to)).close()
    fewer = replace(to, logs=("logins",))
    settings = replace(Settings(), export=Export(destinations=Destinations([fewer])))
    server = ServerFacts(18_00_04, 0.0, SchemaStanding("v0004", "v0004", known=True))
    finding = await export(Installation({}, settings, no_routes, place.database, server))
    assert (finding.state, finding.remedy) == ("warning", f"portcullis export forget {to.name}")
    assert "does not export decisions any more" in finding.message
    await run(place, "forget", to.name, to=fewer)
    state = await place.state(to)
    assert (state.login_id is None, state.decision_id) == (False, None)
    with pytest.raises(OperatorError, match="remove it there first"):
        await run(place, "forget", to.name, to=fewer)


async def test_old_dead_letters_are_deleted(place: Place) -> None:
    async with HttpReceiver(answer=poisoned(400)).listening() as receiver:
        delivery = await place.delivery(place.destination(receiver.url))
        await place.write("poison", "b")
        await drained(delivery)
    await forget_dead_letters(place.database, 30)
    assert (await place.state(delivery)).dead_letters == 1
    name = delivery.destination.name
    await place.execute(
        "UPDATE sys.export_dead_letter SET dead_time = now() - interval '31 days' WHERE destination = :name",
        name=name,
    )
    assert await forget_dead_letters(place.database, 30) == "1 dead letters deleted"
    assert (await place.state(delivery)).dead_letters == 0


async def test_a_month_is_held_for_a_destination_that_lacks_it_and_not_for_ever(place: Place) -> None:
    await place.execute("DELETE FROM sys.export_destination")
    upkeep = Upkeep(place.database, Chain(), {"operation_log": 30, "login_log": 0}, hold_days=10)
    async with HttpReceiver().listening() as receiver:
        delivery = await place.delivery(place.destination(receiver.url))
        start = "2020-01-31T12:00:00+00:00"
        await place.write("old", create_time=datetime.fromisoformat(start))

        async def is_there(today: date) -> bool:
            await upkeep.months(today)
            async with place.database.transaction() as connection:
                return date(2020, 1, 1) in await months.present(connection, "operation_log")

        with capture_logs() as logs:
            assert await is_there(date(2020, 3, 2))  # due since it is 30 days old
            assert "a month of a log is held for its export" in [entry["event"] for entry in logs]
        await drained(delivery)
        assert not await is_there(date(2020, 3, 2))

    await place.write("old", create_time=datetime.fromisoformat(start))
    assert await is_there(date(2020, 3, 11))
    with capture_logs() as logs:
        assert not await is_there(date(2020, 3, 12))
    (dropped,) = (entry for entry in logs if entry["event"] == "a month was dropped before its export")
    assert dropped["destinations"] == delivery.destination.name
    await delivery.step()  # what was lost is not waited for
    assert (await place.state(delivery)).waiting_time is None


async def test_the_doctor_names_what_is_behind_refused_or_sent_in_clear_text(place: Place) -> None:
    await place.execute("DELETE FROM sys.export_destination")
    server = ServerFacts(18_00_04, 0.0, SchemaStanding("v0004", "v0004", known=True))

    async def diagnosed(*to: Destination) -> tuple[str, str]:
        settings = replace(Settings(), export=Export(destinations=Destinations(to)))
        finding = await export(Installation({}, settings, no_routes, place.database, server))
        return finding.state, finding.message

    assert await diagnosed() == ("ok", "there are no destinations")
    async with HttpReceiver(answer=poisoned(400)).listening() as receiver:
        to = place.destination(receiver.url)
        assert await diagnosed(to) == ("ok", "1 destination, none late")
        delivery = await place.delivery(to)
        await place.write("poison", "b")
        await drained(delivery)
        assert await diagnosed(to) == ("warning", f"{to.name} has 1 dead letter")
        clear = place.destination("http://siem.example.com/hook")
        await place.execute("DELETE FROM sys.export_dead_letter")
        assert await diagnosed(to, clear) == ("warning", f"{clear.name} receives entries unencrypted")
        state, message = await diagnosed()
        assert (state, message.split(" ")[0]) == ("warning", to.name)
    await place.write("a")
    await delivery.step()
    assert (await diagnosed(to))[0] == "ok"
    await place.execute("UPDATE sys.export_destination SET waiting_time = now() - interval '11 minutes'")
    assert await diagnosed(to) == (
        "fault",
        f"{to.name} is behind: the receiver can't be reached: ConnectError",
    )
