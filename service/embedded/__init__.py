"""Embedded stores: a PostgreSQL and a Valkey from installed wheels, for machines without servers."""

from service.embedded.privilege import EmbeddedError
from service.embedded.stores import EmbeddedStores, urls_of_running

__all__ = ["EmbeddedError", "EmbeddedStores", "urls_of_running"]
