"""Handover of accounts to a provider, by users who may set their passwords."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from service.administration import change_log
from service.administration.people import People
from service.administration.unit_of_work import RightsUnits
from service.errors import Conflict, NotFound, ValidationFailed
from service.features.directories import store as directories
from service.features.directories.managed import person_of
from service.features.oidc.sentences import sentence
from service.kernel.notify import Notices
from service.kernel.origin import field_changes
from service.kernel.text import unseen_fault
from service.kernel.write import Write
from service.records import user_list


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Handover:
    """Hands accounts over to a provider: from then on, a sign-in there as the subject opens the account."""

    units: RightsUnits
    notices: Notices
    issuers: dict[str, str]
    """The issuer of each provider, by name."""

    people: People
    now: Callable[[], datetime]

    async def hand_over(self, write: Write, name: str, user_name: str, subject: str) -> None:
        """Link a person's account to a subject of the provider ``name``, and notify that person.

        The caller needs the same rights as for setting the account's password, since the provider's
        administrators can act as the person. Raises ``NotFound``, ``PermissionDenied``, and
        ``ValidationFailed`` for a subject with invisible characters. Raises ``Conflict`` for a service
        account and for a subject that has an account.
        """
        if (issuer := self.issuers.get(name)) is None:
            raise NotFound(sentence("no_such_provider"))
        if fault := unseen_fault(subject):
            raise ValidationFailed(("subject", fault))
        async with self.units.of_rights(write) as unit:
            user_id = await person_of(unit.connection, user_name)
            target = await unit.check.target(unit.connection, user_id, "set-password", only_reads=True)
            await unit.check.take_over(unit.connection, [user_id], "hand_over")
            known = await user_list.read(unit.connection, target.user_id)
            logged = change_log.user_target(known.user_name)
            change_log.concerns(logged)
            if not await directories.add_origin(
                unit.connection,
                name,
                issuer,
                subject,
                target.user_id,
                managed=False,
                linked_by=await self.people.all_holders(unit.connection, user_id, self.now()),
            ):
                raise Conflict(sentence("subject_linked"), rule="unique", field="subject")
            unit.changes += field_changes(logged, {}, {"provider": name, "subject": subject})
            facts = {"name": name}
            await self.notices.notify(
                unit.connection, target.user_id, "identity_linked", "administrator", facts
            )
