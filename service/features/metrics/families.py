"""All metrics of a service, by name."""

from pathlib import Path
from typing import Final

from service.web.observability.exposition import families_in

_TABLE: Final = Path(__file__).with_suffix(".csv")
OF_WORKERS: Final = families_in(_TABLE, "workers")
"""Counters end in ``_total``; metrics that only carry a text end in ``_info`` and are 1."""

OF_ALL: Final = families_in(_TABLE, "all")
"""Metrics of the whole installation: every node reports the same values, without a worker label."""

FAMILIES: Final = {**OF_WORKERS, **OF_ALL}
