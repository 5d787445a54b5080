"""Metrics of ``portcullis pdp``, which decides beside a service."""

from pathlib import Path
from typing import Final

from service.web.observability.exposition import families_in

OF_FOLLOWERS: Final = families_in(Path(__file__).with_suffix(".csv"), "followers")
