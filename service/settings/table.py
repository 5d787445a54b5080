"""The table of settings: fields that ``setting`` declares, read back as rows."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, NamedTuple, get_type_hints

from service.kernel.operator_error import OperatorError
from service.kernel.text import printable
from service.settings.values import Kind, kind_of, to_text


class Fault(NamedTuple):
    """One fault: the setting (``auth.max_devices``), variable or file, and a sentence safe to print."""

    name: str
    message: str


class SettingsError(OperatorError):
    """The settings can't be used; ``faults`` holds every fault found, in the order of the table."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(Fault(*map(printable, fault)) for fault in faults)
        count = len(self.faults)
        head = "1 setting is wrong:" if count == 1 else f"{count} settings are wrong:"
        super().__init__("\n".join([head, *(f"  {name}: {message}" for name, message in self.faults)]))


Check = Callable[[Any], str | None]
"""Takes a value of the right type; returns half a sentence ("must be …") if it is not valid, else None."""

PREFIX = "PORTCULLIS_"
FILE_SUFFIX = "_FILE"


def setting(
    default: Any = None,
    *,
    help: str,  # noqa: A002 - the table's word for it
    unit: str = "",
    env: str | None = None,
    secret: bool = False,
    check: Check | None = None,
    derive: Callable[[Mapping[str, str]], Any] | None = None,
    shown: str | None = None,
) -> Any:
    """Declare a field of a section as a setting.

    ``env`` is a second, fixed variable beside ``PORTCULLIS_<SECTION>__<NAME>``. A ``secret`` appears in no
    message and no repr. ``derive`` computes the default from the environment, and ``shown`` then describes
    it.
    """
    metadata = {
        "help": help,
        "unit": unit,
        "env": env,
        "secret": secret,
        "check": check,
        "derive": derive or (lambda _environ: default),
        "shown": to_text(default) if shown is None else shown,
    }
    if derive is not None:
        return field(default_factory=lambda: derive(os.environ), metadata=metadata, repr=not secret)
    return field(default=default, metadata=metadata, repr=not secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One setting: ``shown`` is its default in words, ``derive`` computes it from the environment.

    ``member`` is the field: the name, with ``_`` after one that is a word of Python.
    """

    section: str
    name: str
    member: str
    kind: Kind
    help: str
    unit: str
    env: str | None
    secret: bool
    check: Check | None
    derive: Callable[[Mapping[str, str]], Any]
    shown: str
    files: tuple[str, ...] = ()
    """The variables that may name a file with the value of a secret, in the order of ``variables``."""

    @property
    def title(self) -> str:
        """The name in the file and in messages: ``auth.max_devices``."""
        return f"{self.section}.{self.name}"

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables of this setting; the fixed name, if it has one, first."""
        general = f"{PREFIX}{self.section}__{self.name}".upper()
        return (self.env, general) if self.env else (general,)


@cache
def table_of(settings: type) -> tuple[Row, ...]:
    """Return one row per field of each section of ``settings``, a dataclass of dataclasses."""
    rows = []
    for section, owner in get_type_hints(settings).items():
        kinds = get_type_hints(owner)
        rows += [
            Row(
                section=section,
                name=part.name.rstrip("_"),
                member=part.name,
                kind=kind_of(kinds[part.name]),
                **part.metadata,
            )
            for part in fields(owner)
        ]
    # The file of `tracing.headers` is a setting of its own, whose variable has the same name.
    settings_variables = {variable for row in rows for variable in row.variables}
    return tuple(
        replace(row, files=tuple(name for name in _file_variables(row) if name not in settings_variables))
        for row in rows
    )


def _file_variables(row: Row) -> tuple[str, ...]:
    return tuple(f"{variable}{FILE_SUFFIX}" for variable in row.variables) if row.secret else ()
