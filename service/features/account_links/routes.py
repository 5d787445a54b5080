"""Routes of links."""

from typing import Any

from service.features.account_links import api
from service.features.account_links.addresses import Addresses
from service.features.account_links.forgotten_passwords import ForgottenPasswords
from service.features.account_links.invitations import Invitations
from service.features.account_links.links import links_of
from service.features.account_links.session_ending import SessionEnding
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints of links."""
    administration, sign_in = container.administration, container.sign_in
    database, notices = container.stores.database, administration.notices
    links = links_of(container.settings, container.mailer)
    invitations = Invitations(
        database=database,
        delegation=administration.delegation,
        links=links,
        passwords=sign_in.password_change,
        throttle=sign_in.throttle,
    )
    forgotten = ForgottenPasswords(
        database=database,
        delegation=administration.delegation,
        links=links,
        notices=notices,
        passwords=sign_in.password_change,
        throttle=sign_in.throttle,
        second_factors=sign_in.second_factors,
        closed=sign_in.closed_passwords,
    )
    addresses = Addresses(
        database=database,
        delegation=administration.delegation,
        links=links,
        throttle=sign_in.throttle,
        notices=notices,
        revocations=sign_in.revocations,
        log=container.trail.logins,
    )
    ending = SessionEnding(database, sign_in.revocations, sign_in.throttle, container.trail.logins)
    routes.serve(api.SessionsByLink(ending))
    routes.serve(api.UserInvitation(invitations))
    routes.serve(api.UserPasswordReset(forgotten))
    routes.serve(api.OwnPasswordReset(forgotten))
    routes.serve(api.OwnResetOptions(forgotten))
    routes.serve(api.OwnResetConfirmation(forgotten))
    routes.serve(api.OwnAddress(addresses))
    routes.serve(api.OwnVerification(addresses))
    routes.serve(api.OwnAgreement(addresses, administration.own_credentials))
    routes.serve(api.AddressUndo(addresses))
    routes.serve(api.UserVerification(addresses))
    routes.serve(api.OwnInvitation(invitations))
