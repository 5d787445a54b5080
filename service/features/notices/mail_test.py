"""``portcullis mail test ADDRESS``."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service.cli.output import say
from service.features.notices.mail_server import MailFault
from service.features.notices.sending import send_test
from service.kernel.text import printable
from service.operator.errors import LaunchError
from service.settings import load


class TestError(LaunchError):
    """The mail was refused."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("address", metavar="ADDRESS", help="the recipient")


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Send a mail immediately, without the outbox, and print the server's answer; raises ``TestError``."""
    settings = load(environ)
    if not settings.mail.url:
        raise TestError("Mail is turned off: mail.url is empty")
    try:
        answer = asyncio.run(send_test(settings, options.address))
    except MailFault as fault:
        reply = f" ({printable(fault.answer)})" if fault.answer else ""
        raise TestError(f"The mail was not accepted: {fault.fault}{reply}") from None
    say(f"The mail server accepted the mail: {printable(answer)}")
