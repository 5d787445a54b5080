"""The rules between several settings."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from service.kernel.feature import off_by, switch_faults
from service.settings.all_sections import Settings
from service.settings.chats import ChatDestination
from service.settings.destinations import Destination, is_header_value, signing_keys
from service.settings.event_destinations import EventDestination
from service.settings.providers import Provider
from service.settings.secrecy import check_secret, mounted_text
from service.settings.sections.tracing import file_faults
from service.settings.table import Fault
from service.settings.webhook_members import webhook_url_fault

_LABELS: Final = re.compile(r"[A-Za-z0-9._-]+")
REFRESH_HAND_OUT: Final = 1.0
"""Seconds beyond ``redis.timeout`` in which only one client gets the successor of a refresh token."""
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_ADDRESS: Final = re.compile(r"[0-9.]+|.*:.*")  # of IPv4, and of IPv6 without its brackets

Rule = Callable[[Settings, Collection[str]], Iterator[Fault]]


def broken_rules(settings: Settings, faulty: Collection[str]) -> Iterator[Fault]:
    """Yield the faults that the rules find; a rule that reads a setting in ``faulty`` is skipped."""
    for names, rule in _RULES.items():
        if not any(name in faulty for name in names):
            yield from rule(settings, faulty)


def _signing_secret(settings: Settings, faulty: Collection[str]) -> Iterator[Fault]:
    auth = settings.auth
    if not auth.jwt_algorithm.startswith("HS"):
        return
    if auth.jwt_secret:
        if complaint := check_secret(auth.jwt_algorithm, auth.jwt_secret):
            yield Fault("auth.jwt_secret", complaint)
    elif settings.external or not {"database.url", "redis.url"}.isdisjoint(faulty):
        yield Fault(
            "auth.jwt_secret",
            "is missing: with an external database or session store it must be set. Set JWT_SECRET, "
            'for instance to the output of: python3 -c "import secrets; print(secrets.token_urlsafe(64))"',
        )


def _key_files(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    auth = settings.auth
    if auth.jwt_algorithm.startswith("HS"):
        return
    for name, path in (("jwt_private_key", auth.jwt_private_key), ("jwt_public_key", auth.jwt_public_key)):
        if path is None:
            yield Fault(f"auth.{name}", f"is missing: {auth.jwt_algorithm} needs the PEM files of both keys")
        elif not path.is_file():
            yield Fault(f"auth.{name}", f"is not an existing file: {path}")


def _previous_key(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    auth = settings.auth
    shared = auth.jwt_algorithm.startswith("HS")
    used, unused = ("secret", "private_key") if shared else ("private_key", "secret")
    if getattr(auth, f"jwt_previous_{unused}"):
        yield Fault(f"auth.jwt_previous_{unused}", f"is no key of {auth.jwt_algorithm}")
    given = getattr(auth, f"jwt_previous_{used}")
    if bool(given) != bool(auth.jwt_previous_until):
        missing, other = ("until", used) if given else (used, "until")
        yield Fault(f"auth.jwt_previous_{missing}", f"is missing: auth.jwt_previous_{other} needs it")
    if given and shared and (complaint := check_secret(auth.jwt_algorithm, given)):
        yield Fault("auth.jwt_previous_secret", complaint)
    elif given and shared and given == auth.jwt_secret:
        yield Fault("auth.jwt_previous_secret", "is auth.jwt_secret itself")
    elif given and not shared and not given.is_file():
        yield Fault("auth.jwt_previous_private_key", f"is not an existing file: {given}")


def _cross_origin(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    if settings.auth.is_read_cookie and settings.server.cors_origins:
        yield Fault(
            "server.cors_origins",
            "must be empty in cookie mode (auth.is_read_cookie): cookies are for pages of this service's own "
            "origin, and pages of others send their token in a header",
        )


def _assertions(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    if settings.auth.forward_assertion and settings.auth.jwt_algorithm.startswith("HS"):
        yield Fault(
            "auth.forward_assertion",
            (
                "needs an RS, ES or EdDSA algorithm: everyone who can verify "
                f"{settings.auth.jwt_algorithm} can also sign"
            ),
        )


def _length_with_factor(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    if (settings.password.min_length_with_factor or 0) > settings.password.min_length:
        yield Fault("password.min_length_with_factor", "must not be more than password.min_length")


def _bucket(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    store = settings.objstore
    if not store.bucket and (store.endpoint or store.access_key or store.secret_key):
        yield Fault("objstore.bucket", "is missing: the other settings of the object store need it")
    if bool(store.access_key) != bool(store.secret_key):
        missing = "secret_key" if store.access_key else "access_key"
        yield Fault(f"objstore.{missing}", "is missing: set both keys, or neither")


def _addressing(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    store = settings.objstore
    if store.addressing == "virtual" and store.bucket:
        if not _LABELS.fullmatch(store.bucket):
            yield Fault("objstore.bucket", "must be part of a host name, as objstore.addressing is virtual")
        if _ADDRESS.fullmatch(urlsplit(store.endpoint).hostname or ""):
            yield Fault("objstore.addressing", "must be path: the host of objstore.endpoint is no name")


def _presigned(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    store = settings.objstore
    if store.presigned_links and not (store.bucket and store.access_key):
        yield Fault("objstore.presigned_links", "needs a bucket and both of its keys")


def _decision_log(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    output = settings.policy.decision_log
    if isinstance(output, Path) and not output.parent.is_dir():
        yield Fault("policy.decision_log", f"is not in an existing folder: {output}")


def _destinations(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    checks = {"secret_file": _is_signing_key, "authorization_file": is_header_value}
    for destination in settings.export.destinations:
        yield from _file_faults("export.destinations", destination, checks)
        if destination.transport == "file" and not Path(destination.path).parent.is_dir():
            complaint = f"its file is not in an existing folder: {destination.path}"
            yield Fault("export.destinations", f"{complaint} ({destination.name})")


def _chats(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    name = "chat.destinations"
    if settings.chat.destinations and not settings.server.public_url:
        yield Fault("server.public_url", f"is missing: the links of notices lead back to it ({name})")
    for destination in settings.chat.destinations:
        yield from _secret_faults(name, destination, _WEBHOOK_FILES, "docs/guides/chat.md")


def _events(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    for destination in settings.events.destinations:
        yield from _secret_faults("events.destinations", destination, _WEBHOOK_FILES, "docs/guides/events.md")


def _providers(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    if settings.oidc.providers and not settings.server.public_url:
        yield Fault("server.public_url", "is missing: providers lead back to it (oidc.providers)")
    checks = {"client_secret_file": None, "client_key_file": None}
    for provider in settings.oidc.providers:
        yield from _file_faults("oidc.providers", provider, checks)


def _file_faults(
    setting: str, table: Destination | Provider, checks: Mapping[str, Callable[[str], bool] | None]
) -> Iterator[Fault]:
    """Yield the faults of the files that ``table`` names: those of ``checks`` hold a secret each."""
    yield from _secret_faults(setting, table, checks, "docs/reference/audit-export.md")
    if table.ca_file is not None and not table.ca_file.is_file():
        yield Fault(setting, f"the ca_file is not an existing file: {table.ca_file} ({table.name})")


def _secret_faults(
    setting: str,
    table: ChatDestination | Destination | EventDestination | Provider,
    checks: Mapping[str, Callable[[str], bool] | None],
    page: str,
) -> Iterator[Fault]:
    """Yield the faults of the files with a secret; ``checks`` judge them, ``page`` explains them."""
    for member, fits in checks.items():
        if (path := getattr(table, member)) is not None:
            text, complaint = mounted_text(path)
            if complaint is None and fits is not None and not fits(text):
                complaint = f"does not hold a valid one: see {page}"
            if complaint:
                yield Fault(setting, f"the {member} {path} {complaint} ({table.name})")


def _is_signing_key(text: str) -> bool:
    try:
        return bool(signing_keys(text))
    except ValueError:
        return False


_WEBHOOK_FILES: Final[Mapping[str, Callable[[str], bool]]] = {
    "url_file": lambda text: webhook_url_fault(text) is None,
    "secret_file": _is_signing_key,
}


def _mail(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    mail = settings.mail
    if bool(mail.user) != bool(mail.password):
        missing, other = ("password", "user") if mail.user else ("user", "password")
        yield Fault(f"mail.{missing}", f"is missing: mail.{other} needs it")
    if mail.ca_file is not None and not mail.ca_file.is_file():
        yield Fault("mail.ca_file", f"is not an existing file: {mail.ca_file}")
    if not mail.url:
        return
    if mail.password and mail.url.startswith("smtp://") and mail.server[1] not in _LOOPBACK:
        yield Fault("mail.url", "must be smtps:// or smtp+starttls://: mail.password would be sent in clear")
    if not mail.from_:
        yield Fault("mail.from", "is missing: mail.url needs it")
    if not settings.server.public_url:
        yield Fault("server.public_url", "is missing: the links in mails are made of it")
    if settings.database.url and not settings.auth.factor_key:
        yield Fault("auth.factor_key", "is missing: the links in mails that wait are encrypted with it")


def _tracing_files(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    return file_faults(settings.tracing)


def _not_below(name: str, least: str, word: str = "shorter") -> dict[tuple[str, ...], Rule]:
    """Return the rule that the setting ``name`` is not below the setting ``least``."""

    def rule(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
        if attrgetter(name)(settings) < attrgetter(least)(settings):
            yield Fault(name, f"must not be {word} than {least}")

    return {(least, name): rule}


def _key_before(previous: str, key: str) -> dict[tuple[str, ...], Rule]:
    """Return the rule that ``previous`` is another key than ``key``, which must be set then too."""

    def rule(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
        former, present = attrgetter(previous, key)(settings)
        if former and not present:
            yield Fault(key, f"is missing: {previous} is the key before it")
        elif former and former == present:
            yield Fault(previous, f"is the same as {key}")

    return {(key, previous): rule}


def _dormant(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    auth = settings.auth
    if 0 < auth.dormant_days < auth.dormant_grace:  # these days identify returning users
        yield Fault("auth.dormant_grace", f"is longer than auth.dormant_days, which is {auth.dormant_days}")


def _race_window(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    lease = settings.redis.timeout + REFRESH_HAND_OUT
    if settings.auth.refresh_race_window <= lease:
        yield Fault(
            "auth.refresh_race_window",
            f"must be more than {lease:g} s, which is redis.timeout and one second: else a second tab that "
            "waits for the refresh of the first one counts as a thief and ends the session",
        )


def _features(settings: Settings, faulty: Collection[str]) -> Iterator[Fault]:
    if not settings.features.off:
        return
    yield from (Fault("features.off", fault) for fault in switch_faults(settings.features.off))
    unset = Settings()
    for feature in off_by(settings.features.off):
        for name in feature.settings:
            read = attrgetter(name)
            if name not in faulty and read(settings) != read(unset):
                yield Fault(name, f"needs the feature {feature.name}, which features.off names")


_RULES: dict[tuple[str, ...], Rule] = {
    ("objstore.bucket", "objstore.endpoint", "objstore.access_key", "objstore.secret_key"): _bucket,
    ("objstore.addressing", "objstore.bucket", "objstore.endpoint"): _addressing,
    ("objstore.presigned_links", "objstore.bucket", "objstore.access_key"): _presigned,
    ("auth.dormant_days", "auth.dormant_grace"): _dormant,
    ("auth.refresh_race_window", "redis.timeout"): _race_window,
    **_not_below("upload.link_max_life", "upload.link_life"),
    ("auth.jwt_algorithm", "auth.jwt_secret"): _signing_secret,
    ("auth.jwt_algorithm", "auth.jwt_private_key", "auth.jwt_public_key"): _key_files,
    (
        "auth.jwt_algorithm",
        "auth.jwt_secret",
        "auth.jwt_previous_secret",
        "auth.jwt_previous_private_key",
        "auth.jwt_previous_until",
    ): _previous_key,
    **_key_before("auth.factor_previous_key", "auth.factor_key"),
    (
        "mail.url",
        "mail.user",
        "mail.password",
        "mail.from",
        "mail.ca_file",
        "server.public_url",
        "database.url",
        "auth.factor_key",
    ): _mail,
    ("auth.forward_assertion", "auth.jwt_algorithm"): _assertions,
    **_not_below("auth.refresh_timeout", "auth.access_timeout"),
    ("server.cors_origins", "auth.is_read_cookie"): _cross_origin,
    **_not_below("password.max_length", "password.min_length", "less"),
    ("password.min_length", "password.min_length_with_factor"): _length_with_factor,
    ("policy.decision_log",): _decision_log,
    ("features.off",): _features,
    **_key_before("oplog.chain_previous_key", "oplog.chain_key"),
    ("export.destinations",): _destinations,
    ("oidc.providers", "server.public_url"): _providers,
    ("chat.destinations", "server.public_url"): _chats,
    ("events.destinations",): _events,
    ("tracing.headers", "tracing.headers_file", "tracing.ca_file"): _tracing_files,
}
