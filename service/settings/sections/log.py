"""The settings of the log on standard output."""

from dataclasses import dataclass
from typing import Literal

from service.settings.table import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The log on standard output."""

    format: Literal["auto", "json", "console"] = setting(
        "auto", help="`json`, `console`, or `auto`: lines for people on a terminal, else JSON."
    )
    level: Literal["debug", "info", "warning", "error"] = setting(
        "info", help="The lowest level that is written: `debug`, `info`, `warning` or `error`."
    )
