"""The rules between several settings."""

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from service.settings.destinations import Destination, is_header_value, signing_keys
from service.settings.secrecy import check_secret, mounted_text
from service.settings.sections import Settings
from service.settings.table import Fault
from service.settings.tracing import file_faults

_LABELS: Final = re.compile(r"[A-Za-z0-9._-]+")
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
            f"needs an RS, ES or EdDSA algorithm: who can verify {settings.auth.jwt_algorithm} can also sign",
        )


def _lifetimes(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    if settings.auth.refresh_timeout < settings.auth.access_timeout:
        yield Fault("auth.refresh_timeout", "must not be shorter than auth.access_timeout")


def _password_lengths(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    if settings.password.max_length < settings.password.min_length:
        yield Fault("password.max_length", "must not be less than password.min_length")
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


def _link_lives(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    if settings.upload.link_max_life < settings.upload.link_life:
        yield Fault("upload.link_max_life", "must not be shorter than upload.link_life")


def _decision_log(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    output = settings.policy.decision_log
    if isinstance(output, Path) and not output.parent.is_dir():
        yield Fault("policy.decision_log", f"is not in an existing folder: {output}")


def _destinations(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    for destination in settings.export.destinations:
        for complaint in _file_faults(destination):
            yield Fault("export.destinations", f"{complaint} ({destination.name})")


def _file_faults(destination: Destination) -> Iterator[str]:
    checked = (
        ("secret_file", destination.secret_file, _is_signing_key),
        ("authorization_file", destination.authorization_file, is_header_value),
    )
    for member, path, fits in checked:
        if path is not None:
            text, complaint = mounted_text(path)
            if complaint is None and not fits(text):
                complaint = "does not hold a valid one: see docs/reference/audit-export.md"
            if complaint:
                yield f"the {member} {path} {complaint}"
    if destination.ca_file is not None and not destination.ca_file.is_file():
        yield f"the ca_file is not an existing file: {destination.ca_file}"
    if destination.transport == "file" and not Path(destination.path).parent.is_dir():
        yield f"its file is not in an existing folder: {destination.path}"


def _is_signing_key(text: str) -> bool:
    try:
        return bool(signing_keys(text))
    except ValueError:
        return False


def _previous_chain_key(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    oplog = settings.oplog
    if oplog.chain_previous_key and not oplog.chain_key:
        yield Fault("oplog.chain_key", "is missing: oplog.chain_previous_key is the key before it")
    elif oplog.chain_previous_key and oplog.chain_previous_key == oplog.chain_key:
        yield Fault("oplog.chain_previous_key", "is the same as oplog.chain_key")


def _factor_keys(settings: Settings, _faulty: Collection[str]) -> Iterator[Fault]:
    auth = settings.auth
    if auth.factor_previous_key and not auth.factor_key:
        yield Fault("auth.factor_key", "is missing: auth.factor_previous_key is the key before it")
    elif auth.factor_previous_key and auth.factor_previous_key == auth.factor_key:
        yield Fault("auth.factor_previous_key", "is the same as auth.factor_key")


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


_RULES: dict[tuple[str, ...], Rule] = {
    ("objstore.bucket", "objstore.endpoint", "objstore.access_key", "objstore.secret_key"): _bucket,
    ("objstore.addressing", "objstore.bucket", "objstore.endpoint"): _addressing,
    ("objstore.presigned_links", "objstore.bucket", "objstore.access_key"): _presigned,
    ("upload.link_life", "upload.link_max_life"): _link_lives,
    ("auth.jwt_algorithm", "auth.jwt_secret"): _signing_secret,
    ("auth.jwt_algorithm", "auth.jwt_private_key", "auth.jwt_public_key"): _key_files,
    (
        "auth.jwt_algorithm",
        "auth.jwt_secret",
        "auth.jwt_previous_secret",
        "auth.jwt_previous_private_key",
        "auth.jwt_previous_until",
    ): _previous_key,
    ("auth.factor_key", "auth.factor_previous_key"): _factor_keys,
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
    ("auth.access_timeout", "auth.refresh_timeout"): _lifetimes,
    ("server.cors_origins", "auth.is_read_cookie"): _cross_origin,
    ("password.min_length", "password.min_length_with_factor", "password.max_length"): _password_lengths,
    ("policy.decision_log",): _decision_log,
    ("oplog.chain_key", "oplog.chain_previous_key"): _previous_chain_key,
    ("export.destinations",): _destinations,
    ("tracing.headers", "tracing.headers_file", "tracing.ca_file"): _tracing_files,
}
