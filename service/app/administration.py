"""Administration in a worker: the changes of users, roles, menus and resources."""

from dataclasses import dataclass

from service.administration.accounts import Accounts, PasswordReset
from service.administration.bans import Bans, Kicks
from service.administration.changes import MENUS, RESOURCES, ROLES, Changes
from service.administration.delegation import Delegation
from service.administration.own_credentials import OwnCredentials
from service.administration.unit_of_work import UnitsOfWork
from service.administration.user_edits import AddressChanged
from service.app.audit_trail import Trail
from service.app.policy import PolicyParts
from service.app.sign_in import SignIn
from service.app.stores import Stores
from service.kernel.feature import sole
from service.kernel.notify import Notices
from service.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Administration:
    """Services that change records, under the rights of a caller."""

    accounts: Accounts
    address_changed: AddressChanged
    bans: Bans
    delegation: Delegation
    kicks: Kicks
    own_credentials: OwnCredentials
    password_reset: PasswordReset
    roles: Changes
    menus: Changes
    resources: Changes
    units: UnitsOfWork
    notices: Notices


def make(
    settings: Settings,
    stores: Stores,
    policy: PolicyParts,
    trail: Trail,
    sign_in: SignIn,
    *,
    notices: Notices,
) -> Administration:
    """Return the services for changes that callers of the worker request."""
    database = stores.database
    delegation = Delegation(policy.live, stores.sessions.synchronized.instant)
    revocations = sign_in.revocations
    passwords, rules = sign_in.passwords, sign_in.password_rules
    units = UnitsOfWork(database, policy.changes, delegation, revocations)
    address_changed: AddressChanged = sole("address-changed")(settings, sign_in.throttle)
    accounts = Accounts(
        units, revocations, passwords, rules, notices=notices, address_changed=address_changed
    )
    return Administration(
        accounts=accounts,
        address_changed=address_changed,
        bans=Bans(database, delegation, revocations, notices, trail.logins),
        delegation=delegation,
        kicks=Kicks(database, delegation, revocations, sign_in.sessions),
        own_credentials=OwnCredentials(delegation, sign_in.password_change, stores.sessions.synchronized.now),
        password_reset=PasswordReset(delegation, sign_in.password_change),
        roles=Changes(units, ROLES),
        menus=Changes(units, MENUS),
        resources=Changes(units, RESOURCES),
        units=units,
        notices=notices,
    )
