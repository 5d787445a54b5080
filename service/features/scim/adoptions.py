"""Adoption: a directory takes over an existing account, as if its client had created it."""

from dataclasses import dataclass

from service.administration import change_log
from service.administration.events import BEFORE_ACCOUNT_EDIT
from service.administration.unit_of_work import RightsUnits
from service.errors import Conflict, NotFound
from service.features.directories import store as directories
from service.features.directories.managed import managed_by, person_of
from service.features.scim import store as scim
from service.features.scim.sentences import sentence
from service.features.scim.store import Known
from service.kernel.notify import Notices
from service.kernel.origin import field_changes
from service.kernel.write import Write
from service.records import user_list


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Adoptions:
    """Hands accounts of people over to directories that provision through SCIM."""

    units: RightsUnits
    notices: Notices

    async def adopt(self, write: Write, name: str, user_name: str) -> None:
        """Let the directory ``name`` manage a person's account; notify the person and remove its links.

        The caller needs the same rights as for setting the account's password, since the directory sets its
        address. Raises ``NotFound`` and ``PermissionDenied``. Raises ``Conflict`` for a service account, an
        account above the ceiling or managed by a directory, and a directory that is cut off or does not
        provision.
        """
        async with self.units.of_rights(write) as unit:
            connection = unit.connection
            stored = await directories.named(connection, name)
            if stored is None:
                raise NotFound(sentence("no_such_directory"))
            if stored.kind != "scim":
                raise managed_by(name, sentence("directory_without_accounts", directory=name))
            if not stored.enabled:
                raise managed_by(name, sentence("directory_cut_off", directory=name))
            user_id = await person_of(connection, user_name)
            target = await unit.check.target(connection, user_id, "set-password", only_reads=True)
            await unit.check.take_over(connection, [user_id], "hand_over")
            user = await user_list.read(connection, target.user_id)
            logged = change_log.user_target(user.user_name)
            change_log.concerns(logged)
            await BEFORE_ACCOUNT_EDIT.emit(connection, user_id, unit.check.directory)
            held = (await directories.roles_from_other_sources(connection, name, [user_id])).get(user_id, ())
            if beyond := await unit.check.beyond(connection, stored.ceiling, held):
                why = sentence("user_over_ceiling", directory=name)
                raise Conflict(why, rule="directory", directory=name, required=beyond)
            await directories.add_origin(connection, name, "", str(user_id), user_id, managed=True)
            await scim.put_user(connection, name, user_id, Known())
            unit.changes += field_changes(logged, {}, {"directory": name})
            await self.notices.notify(connection, user_id, "identity_linked", "administrator", {"name": name})
