"""The settings of the console."""

from dataclasses import dataclass

from service.settings.table import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """The console in a browser."""

    enabled: bool = setting(
        True,
        help="Serve the console at `/console`. It is static files and calls the API like any client; "
        "switched off, `/console` answers 404.",
    )
