"""The environment of the tests: no settings of an installation that the developer runs."""

from __future__ import annotations

from collections.abc import MutableMapping

from service import settings
from service.kernel.cache_sizes import VARIABLE as TEST_CACHES
from service.settings.loading import OUTSIDE_THE_TABLE


def forget_settings(environ: MutableMapping[str, str]) -> None:
    """Remove the variables of all settings, and those by which libpq completes a URL of the database."""
    known = OUTSIDE_THE_TABLE.union(*(row.variables for row in settings.table())) - {TEST_CACHES}
    for name in [name for name in environ if name in known or name.startswith("PG")]:
        del environ[name]
