"""Jobs of links: mail requested links, and delete expired links."""

from functools import partial
from typing import Final

from service.authn.proving import ClosedPasswords
from service.features.account_links import store_tokens, store_undos
from service.features.account_links.forgotten_passwords import answer_requests
from service.features.account_links.links import links_of
from service.features.account_links.sentences import sentence
from service.jobs.housekeeping import forget_in_portions
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.kernel.notify import mailer_of, notices_of
from service.records import account_control
from service.records.database.transactions import Database
from service.settings import Settings

_HOUR: Final = 3600.0


async def forget_links(database: Database) -> Sentence:
    """Delete expired links of accounts, and old records of acts on accounts. Raises Unavailable."""
    links = await forget_in_portions(database, store_tokens.forget_expired)
    links += await forget_in_portions(database, store_undos.forget_expired)
    return sentence(
        "links_deleted", links=links, acts=await forget_in_portions(database, account_control.forget_old)
    )


def jobs(settings: Settings) -> tuple[Job, ...]:
    links = links_of(settings, mailer_of(settings))
    return (
        Job(
            "password-resets",
            "Mail reset links to users who forgot their password",
            partial(
                answer_requests,
                links=links,
                notices=notices_of(settings),
                closed=ClosedPasswords(settings.oidc),
            ),
            5.0 if links.by_mail else _HOUR,
            retry=60.0,
            pending=store_tokens.is_asked,
            after="expired-answers",
        ),
        Job(
            "expired-links",
            "Delete expired account links, and records of acts on accounts after a year",
            forget_links,
            _HOUR,
            after="password-resets",
        ),
    )
