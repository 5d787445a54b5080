"""Checks of settings that are valid but a risk in this installation."""

from ipaddress import IPv4Network, IPv6Network, collapse_addresses

from service.features.operations.sentences import sentence
from service.kernel.hosts import is_local
from service.operator.findings import Finding, Installation, fault, ok, warning
from service.settings import FIRST_PASSWORD

_WIDEST = {4: 24, 6: 48}  # prefix lengths; wider public networks than these belong to more than one proxy


def cookie_mode(installation: Installation) -> Finding:
    """Cookies over plain HTTP can be read and set by anybody on the network path."""
    auth = installation.settings.auth
    if not auth.is_read_cookie:
        return ok(sentence("cookies_off"))
    if auth.cookie_secure:
        return ok(sentence("cookies_secure"))
    message = sentence("cookies_insecure")
    remedy = sentence("secure_cookies")
    alone = is_local(installation.settings.server.host) and not installation.settings.server.trusted_proxies
    return warning(message, remedy) if alone else fault(message, remedy)


def proxies(installation: Installation) -> Finding:
    """A client in a trusted network can choose the address by which its attempts are counted."""
    trusted = installation.settings.server.trusted_proxies
    if not trusted:
        return ok("no proxy is trusted: the address of the peer is used as the client address")
    everyone = [network for network in _collapsed(trusted) if network.prefixlen == 0]
    if everyone:
        return fault(
            f"server.trusted_proxies contains all IPv{everyone[0].version} addresses, so each client can "
            "choose its address",
            "list only the addresses of the proxies",
        )
    wide = [
        str(network)
        for network in trusted
        if not network.is_private and network.prefixlen < _WIDEST[network.version]
    ]
    if wide:
        return warning(
            f"server.trusted_proxies contains large public networks: {', '.join(wide)}",
            "list only the addresses of the proxies",
        )
    return ok(f"{len(trusted)} trusted")


def address(installation: Installation) -> Finding:
    """The service speaks plain HTTP: only a proxy that speaks TLS should reach it."""
    server = installation.settings.server
    if is_local(server.host):
        return ok(f"{server.host}, only reachable from this machine")
    if server.trusted_proxies:
        return ok(f"{server.host}, behind a proxy")
    return warning(
        f"{server.host} can be reached from other machines over plain HTTP, and no proxy is configured",
        "put a TLS proxy in front and add it to server.trusted_proxies, or listen on 127.0.0.1",
    )


def deny_check(installation: Installation) -> Finding:
    """Without it, revoked rights stay in effect until the token expires."""
    auth = installation.settings.auth
    if auth.per_request_deny_check:
        return ok(sentence("denials_checked"))
    return warning(
        sentence("denials_unchecked", seconds=auth.access_timeout),
        sentence("check_denials"),
    )


def throttling(installation: Installation) -> Finding:
    """Without throttling, passwords can be guessed as fast as they are hashed."""
    throttle = installation.settings.throttle
    if throttle.enabled:
        return ok(sentence("logins_throttled", count=throttle.login_account, seconds=throttle.window))
    return warning(sentence("logins_unthrottled"), sentence("throttle_logins"))


def first_password(installation: Installation) -> Finding:
    """A password in the environment can leak through processes, logs and images."""
    if (
        installation.environ.get(FIRST_PASSWORD)
        and installation.server is not None
        and installation.server.schema.stored
    ):
        return warning(
            sentence("first_password_set", variable=FIRST_PASSWORD),
            sentence("unset_first_password", variable=FIRST_PASSWORD),
        )
    return ok(sentence("first_password_unset"))


def _collapsed(networks: tuple[IPv4Network | IPv6Network, ...]) -> list[IPv4Network | IPv6Network]:
    """Join adjacent networks: the two halves of all addresses become one network."""
    return [
        *collapse_addresses(network for network in networks if isinstance(network, IPv4Network)),
        *collapse_addresses(network for network in networks if isinstance(network, IPv6Network)),
    ]
