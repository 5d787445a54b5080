"""``portcullis notices test NAME``."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service.cli.output import say
from service.features.chat.sending import send_test
from service.features.webhooks.posting import PostFault
from service.operator.errors import LaunchError
from service.settings import load


class ChatTestError(LaunchError):
    """The message was not accepted."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the destination, one of chat.destinations")


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Post a test message immediately, without the outbox; raises ``ChatTestError``."""
    settings = load(environ)
    destinations = {each.name: each for each in settings.chat.destinations}
    if (destination := destinations.get(options.name)) is None:
        names = ", ".join(destinations) or "none"
        raise ChatTestError(f"There is no such destination; chat.destinations has {names}")
    try:
        asyncio.run(send_test(settings, destination))
    except PostFault as refused:
        raise ChatTestError(f"The message was not accepted: {refused.fault}") from None
    say(f"{destination.name} accepted the message")
