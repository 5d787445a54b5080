"""Loads and checks the settings: the environment goes before the file, the file before the defaults."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from service.kernel.cache_sizes import VARIABLE as TEST_CACHES
from service.kernel.text import OptionValue
from service.settings.all_sections import Settings
from service.settings.destinations import SECRET_MEMBERS
from service.settings.rules import broken_rules
from service.settings.secrecy import platform_text
from service.settings.table import FILE_SUFFIX, PREFIX, Fault, Row, SettingsError, table_of
from service.settings.values import Substituted, from_toml

# "$${" stands for a literal "${"; a "${" that is no well-formed reference is a fault.
_REFERENCE = re.compile(r"\$(\$\{)|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\})?")


def read_file(path: Path) -> tuple[dict[str, Any], list[Fault]]:
    """Return the tables of the file at ``path``, and faults: one if the file can't be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig")), []
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        reason = f"it is not TOML: {error}"
    except RecursionError:
        reason = "it is nested too deep"
    return {}, [Fault(str(path), f"can't be read: {reason}")]


def substitute(value: object, environ: Mapping[str, str]) -> Any:
    """Return ``value`` with the references in its strings replaced from ``environ``.

    ``${NAME}`` must be set; ``${NAME:fallback}`` need not be. A variable that is set but empty counts
    as set. Values are not searched for further references. ValueError names a variable that is not set.
    """
    if isinstance(value, list):
        return [substitute(part, environ) for part in value]
    if isinstance(value, dict):
        return {name: substitute(part, environ) for name, part in value.items()}
    if not isinstance(value, str) or "${" not in value:
        return value

    def replaced(match: re.Match[str]) -> str:
        literal, name, fallback = match.groups()
        if literal:
            return "${"
        if name is None:
            raise ValueError(
                "has a ${ that is not part of ${NAME} or ${NAME:fallback}; write $${ for the characters ${"
            )
        setting = environ.get(name, fallback)
        if setting is None:
            raise ValueError(
                f"needs the environment variable {name}, which is not set; ${{{name}:…}} gives a fallback"
            )
        return setting

    return Substituted(_REFERENCE.sub(replaced, value))


CONFIG = "PORTCULLIS_CONFIG"
FIRST_PASSWORD = "PORTCULLIS_ADMIN_PASSWORD"  # noqa: S105 - the name of a variable, not a password
"""The variable with the password that the operator chose for the first administrator."""
DEFAULT_FILE = "portcullis.toml"

_FIRST_PASSWORD_FILE = f"{FIRST_PASSWORD}{FILE_SUFFIX}"

OUTSIDE_THE_TABLE = frozenset(
    {CONFIG, FIRST_PASSWORD, _FIRST_PASSWORD_FILE, "PORTCULLIS_BACKUP_PASSPHRASE", TEST_CACHES}
)
"""Variables of this program that are not settings."""

_OF_CLIENTS = frozenset({"PORTCULLIS_KEY", "PORTCULLIS_URL"})
"""Variables by which a guarded service finds Portcullis: a shell that has them may also run commands."""

REMOVED = {
    "policy.request_profile": "was removed with the AuthZEN access request profile: delete this setting. "
    "People ask for roles themselves, in the console or by POST /api/access-request",
}
"""Remedies for settings of earlier versions, by name."""

# Kubernetes sets these variables in every pod if there is a Service with the name "portcullis".
_SERVICE_LINK = re.compile(
    r"PORTCULLIS_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)=.*"
    r"|PORTCULLIS_PORT=(tcp|udp|sctp)://.*",
    re.DOTALL,
)


def load(environ: Mapping[str, str], *, file: Path | None = None) -> Settings:
    """Return the settings from ``environ`` and the configuration file. Only reads; changes nothing.

    The file is ``file``, else the one that ``PORTCULLIS_CONFIG`` names (empty: none), else
    ``portcullis.toml`` in the working directory if it exists. Put a command-line option into ``environ`` as
    its variable. Raises SettingsError with every fault found; no message holds the value of a secret.
    """
    path = file or configured_file(environ)
    tables, unreadable = read_file(path) if path else ({}, [])
    rows = table_of(Settings)
    faults = [*unreadable, *_unknown_in_file(tables, rows), *_unknown_variables(environ, rows)]
    values: dict[str, dict[str, Any]] = {row.section: {} for row in rows}
    for row in rows:
        try:
            values[row.section][row.member] = _value(row, environ, tables)
        except ValueError as error:
            faults.append(Fault(row.title, str(error)))
    # A faulty value is left out, so its default is used; rules that read it are skipped.
    settings = Settings(**{name: kind(**values[name]) for name, kind in get_type_hints(Settings).items()})
    if not unreadable:
        faults += broken_rules(settings, {fault.name for fault in faults})
    if faults:
        raise SettingsError(faults)
    return settings


def configured_file(environ: Mapping[str, str]) -> Path | None:
    """Return the path of the configuration file that ``load`` reads with ``environ``, or None."""
    if CONFIG in environ:
        return Path(environ[CONFIG]) if environ[CONFIG] else None
    return Path(DEFAULT_FILE) if Path(DEFAULT_FILE).exists() else None


def first_password(environ: Mapping[str, str]) -> str | None:
    """Return the password for the first administrator, from its variable or the file that its other names.

    Returns None if neither is set. Raises SettingsError if both are, or if the file can't be read.
    """
    try:
        given = _given((FIRST_PASSWORD,), (_FIRST_PASSWORD_FILE,), environ)
    except ValueError as error:
        raise SettingsError([Fault(FIRST_PASSWORD, str(error))]) from None
    return given[1] or None if given else None


def secret_files(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files that variables of ``environ`` name instead of holding a secret themselves."""
    names = [name for row in table_of(Settings) for name in row.files]
    return tuple(Path(environ[name]) for name in (*names, _FIRST_PASSWORD_FILE) if environ.get(name))


def written_secrets(path: Path) -> tuple[str, ...]:
    """Return the titles of the secrets that the file at ``path`` holds in plain text, not by reference.

    Returns none for a file that can't be read.
    """
    tables, _ = read_file(path)
    return tuple(
        row.title
        for row in table_of(Settings)
        if row.secret
        and isinstance(section := tables.get(row.section), dict)
        and any(text and "${" not in text for text in _texts_of_secrets(section.get(row.name)))
    )


def _texts_of_secrets(value: object) -> Iterator[str]:
    """Yield ``value`` if it is a text; of tables of destinations or providers the secrets of each."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for members in value.values() if isinstance(value, dict) else value:
            if isinstance(members, dict):
                secrets = (*SECRET_MEMBERS, "client_secret")
                yield from (str(members[name]) for name in secrets if name in members)


def _value(row: Row, environ: Mapping[str, str], tables: Mapping[str, Any]) -> Any:
    if given := _given(row.variables, row.files, environ):
        name, text = given
        source = text.option if isinstance(text, OptionValue) else name
        return _checked(row, Substituted(text), f"from {source}", echo=True)
    section = tables.get(row.section)
    if not isinstance(section, dict) or row.name not in section:
        return row.derive(environ)
    value = substitute(section[row.name], environ)
    # A substituted value may come from a secret variable, so it is not echoed.
    return _checked(row, value, "from the file", echo=value == section[row.name])


def _given(
    variables: Iterable[str], files: Iterable[str], environ: Mapping[str, str]
) -> tuple[str, str] | None:
    """Return the variable that gives a value, and the value or the text of the file that it names."""
    values = {name: environ[name] for name in variables if name in environ}
    paths = {name: environ[name] for name in files if name in environ}
    if values and paths:
        raise ValueError(f"is given twice, by {' and '.join([*values, *paths])}: remove either")
    for given in (values, paths):
        if len(set(given.values())) > 1:
            raise ValueError(f"is given twice, and differently: {' and '.join(given)}")
    for name, path in paths.items():
        if not path:
            raise ValueError(f"must be in a file: {name} is set to nothing")
        text, complaint = platform_text(Path(path))
        if complaint:
            raise ValueError(f"{path} {complaint} (from {name})")
        return name, text
    return next(iter(values.items()), None)


def _checked(row: Row, raw: object, source: str, *, echo: bool) -> Any:
    try:
        value = from_toml(row.kind, raw)
        complaint = row.check(value) if row.check else None
    except ValueError as error:
        complaint = str(error)
    except OverflowError:
        complaint = "is too large a number"
    if complaint:
        what = f", not {raw!r:.80}" if echo and not row.secret else ""
        raise ValueError(f"{complaint}{what} ({source})")
    return value


def _unknown_in_file(tables: Mapping[str, Any], rows: Iterable[Row]) -> Iterator[Fault]:
    sections: dict[str, list[str]] = {}
    for row in rows:
        sections.setdefault(row.section, []).append(row.name)
    for section, content in tables.items():
        if section not in sections:
            yield Fault(section, "is no section of the file" + _suggestion(section, sections))
        elif not isinstance(content, dict):
            yield Fault(section, "must be a table of settings, not a value")
        else:
            for name in content.keys() - set(sections[section]):
                title = f"{section}.{name}"
                yield Fault(
                    title, REMOVED.get(title) or "is no setting" + _suggestion(name, sections[section])
                )


def _unknown_variables(environ: Mapping[str, str], rows: Iterable[Row]) -> Iterator[Fault]:
    known = OUTSIDE_THE_TABLE.union(*(row.variables + row.files for row in rows))
    left_alone = known | _OF_CLIENTS
    removed = {PREFIX + title.replace(".", "__").upper(): advice for title, advice in REMOVED.items()}
    for name in sorted(environ):
        if (
            name.startswith(PREFIX)
            and name not in left_alone
            and not _SERVICE_LINK.fullmatch(f"{name}={environ[name]}")
        ):
            yield Fault(name, removed.get(name) or "is no setting's variable" + _suggestion(name, known))


def _suggestion(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for faults

    close = get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f"; did you mean {close[0]}?" if close else ""
