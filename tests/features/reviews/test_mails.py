"""Mails about a review reach a mail server, in the language of each reader, with a link to the review."""

from email.message import EmailMessage

from tests.features.notices.mail.conftest import MAILING, SITE
from tests.features.reviews.test_reviews import DECIDES, close, execute, started
from tests.support.inside_fixtures import ServiceWith
from tests.support.mail_server import MailServer, mail_server
from tests.support.members import member
from tests.support.waiting import eventually_here

ADDRESS = "UPDATE sys.user SET email = %s, recovery_email = %s, language = %s WHERE id = %s"


async def received(server: MailServer, number: int) -> list[tuple[str, EmailMessage]]:
    """Wait for so many mails in all, and return those that were not returned before, by recipient."""
    assert await eventually_here(lambda: len(server.taken) >= number), [to for to, _ in server.taken]
    taken, server.taken = sorted(server.taken, key=lambda each: each[0]), []
    return taken


async def test_reviewers_and_the_author_get_mails_about_a_review(service_with: ServiceWith) -> None:
    async with mail_server() as server:
        variables = MAILING | {"PORTCULLIS_MAIL__URL": f"smtp://127.0.0.1:{server.port}"}
        async with service_with(**variables) as house:
            heron = await member(house, "heron", "system:file:list")
            kestrel = await member(house, "kestrel", *DECIDES)
            merlin = await member(house, "merlin", *DECIDES)
            for user_id, name, language in (
                (1, "admin", "en"),
                (heron.user_id, "heron", "en"),
                (kestrel.user_id, "kestrel", "en"),
                (merlin.user_id, "merlin", "zh-CN"),
            ):
                await execute(house, ADDRESS, *[f"{name}@example.org"] * 2, language, user_id)
            asked = {"userIds": [kestrel.user_id, merlin.user_id]}
            review = await started(house, heron, reviewers=asked, onSilence="keep")
            link = f"{SITE}/console/#/reviews/{review['id']}"

            opened = await received(server, 2)
            assert [to for to, _ in opened] == ["kestrel@example.org", "merlin@example.org"]
            (_, english), (_, chinese) = opened
            assert english["Subject"] == "[admin.example.com] A review waits for you"
            assert chinese["Subject"] == "[admin.example.com] 有访问审查等待你处理"
            for _, message in opened:
                assert link in message.get_content().splitlines(), message.get_content()
                assert review["title"] in message.get_content()

            await execute(house, "ALTER TABLE sys.review DISABLE TRIGGER USER")
            await execute(house, "UPDATE sys.review SET create_time = create_time - interval '1 day'")
            await execute(house, "ALTER TABLE sys.review ENABLE TRIGGER USER")
            await house.data("POST", "/api/jobs/review-ends/run")
            due = await received(server, 2)
            assert [to for to, _ in due] == ["kestrel@example.org", "merlin@example.org"]
            assert due[0][1]["Subject"] == "[admin.example.com] A review ends soon"

            assert (await close(house, review)).status == 200
            closed = await received(server, 3)
            readers = ["admin@example.org", "kestrel@example.org", "merlin@example.org"]
            assert [to for to, _ in closed] == readers, "heron, whose roles are reviewed, gets none"
            assert closed[0][1]["Subject"] == "[admin.example.com] A review is closed"
            assert all(link in message.get_content().splitlines() for _, message in closed)
