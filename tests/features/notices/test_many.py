"""Notices arrive by SMTP, and many of them hold nobody up."""

import pytest

from service.features.notices.sending import Sending
from service.features.second_factors.sealing import FactorKeys
from service.records.database.transactions import Database
from service.settings import load
from tests.authn.conftest import SECRET
from tests.features.account_links.conftest import MAILING, Mailing
from tests.features.second_factors.conftest import ORIGIN
from tests.support.mail_server import mail_server

SOME = 100


async def test_two_kinds_arrive_at_a_mail_server_with_their_words_and_their_own_links(
    mailing: Mailing,
) -> None:
    person = await mailing.person()
    await person.log_in()
    [(auditor,)] = mailing.execute("SELECT id FROM sys.role WHERE role_code = 'auditor'")
    await mailing.site.data("PATCH", f"/api/user/{person.id}", {"roleIds": [auditor]})
    links = {mail.kind: mail.link for mail in mailing.mails(person.id)}
    async with mail_server() as server:
        stores = {"DATABASE_URL": mailing.site.database_url, "REDIS_URL": mailing.site.redis_url}
        url = {"PORTCULLIS_MAIL__URL": f"smtp://127.0.0.1:{server.port}", "JWT_SECRET": SECRET}
        settings = load({"PORTCULLIS_CONFIG": "", **stores, **MAILING, **url})
        async with Database(mailing.site.database_url) as database:
            for _ in range(20):  # the service itself may just have tried, at a server that is not there
                mailing.execute("UPDATE sys.mail SET next_time = now() WHERE state = 'waiting'")
                await Sending(settings, FactorKeys.of(settings.auth)).run(database)
                waiting = "SELECT 1 FROM sys.mail WHERE user_id = %s AND state = 'waiting'"
                if not mailing.execute(waiting, person.id):
                    break
        to_person = {
            message["Subject"]: message.get_content()
            for recipient, message in server.taken
            if recipient == f"{person.name}@example.org"
        }
    device, roles = (
        to_person[f"[id.example.com] {subject}"]
        for subject in ("A login from a new device", "Your roles were changed")
    )
    assert links["new_device"] in device.splitlines()
    assert links["roles_changed"] in roles.splitlines()
    assert f"The account {person.name} at {ORIGIN}" in device
    assert "from 192.0.2.7 (" in device
    assert "Assigned: auditor. Revoked: none." in roles
    assert "by an administrator" in roles
    assert mailing.mails(person.id, "new_device")[0].link == ""  # once it is sent, nothing has it


@pytest.mark.feature("tables")
async def test_an_import_of_many_tells_those_whose_roles_it_changes_and_no_new_user(mailing: Mailing) -> None:
    names = [f"many-{number}" for number in range(SOME)]
    first = "userName,nickName,roles\n" + "".join(f"{name},{name},auditor\n" for name in names)
    second = "userName,roles\n" + "".join(f"{name},\n" for name in names)
    query = (
        'SELECT count(*) FROM sys.notice JOIN sys."user" one ON one.id = user_id'
        " WHERE user_name LIKE 'many-%%'"
    )
    counts = []
    for table in (first, second):
        answer = await mailing.site.ask_raw(
            "POST", "/api/user/import", table.encode(), ("Content-Type", "text/csv")
        )
        assert answer.status == 200, answer.body
        counts += [count for (count,) in mailing.execute(query)]
    assert counts == [0, SOME]
