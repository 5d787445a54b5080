"""The configuration file: TOML, one table per section, ``${NAME:fallback}`` in its strings."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from service.settings.table import Fault
from service.settings.values import Substituted

# "$${" stands for a literal "${"; a "${" that is no well-formed reference is a fault.
_REFERENCE = re.compile(r"\$(\$\{)|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\})?")


def read(path: Path) -> tuple[dict[str, Any], list[Fault]]:
    """Return the tables of the file at ``path``, and faults: one if the file can't be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")), []
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
