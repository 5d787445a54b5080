"""``portcullis sessions copy``: copy a session store of one server to a cluster."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from service.cli.lazy_commands import add_data
from service.cli.output import say
from service.features.cluster.copying import copy_to_cluster
from service.operator.stores import reachable
from service.operator.who import log_to_errors
from service.settings import load


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of both stores."""
    add_data(parser)
    url = "a URL, or @FILE to keep the URL secret from other users of this machine"
    parser.add_argument("--from", dest="source", metavar="URL", help=f"{url}; redis.url unless given")
    parser.add_argument("--to", dest="target", metavar="URL", required=True, help=f"the cluster: {url}")


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Copy all keys; raises ``CopyError`` if the cluster is not empty, and ``Unavailable``."""
    with reachable(load(environ), create=True) as settings:
        log_to_errors(settings)
        source = replace(settings.redis, url=_url(options.source) if options.source else settings.redis.url)
        target = replace(settings.redis, url=_url(options.target))
        copied = asyncio.run(copy_to_cluster(source, target))
    for kind, number in sorted(copied.items()):
        say(f"{number:>9}  {kind}")
    say(f"{copied.total()} keys are copied. Set redis.url to the cluster on all nodes, and start them.")


def _url(given: str) -> str:
    return Path(given[1:]).read_text(encoding="utf-8-sig").strip() if given.startswith("@") else given
