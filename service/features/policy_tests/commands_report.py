"""``portcullis policy report --output FILE``: one page about the whole policy, for auditors."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

from service import settings as table
from service.cli.lazy_commands import add_data
from service.cli.output import say, source_line
from service.features.explain.reviewing import add_at
from service.features.policy_tests.commands_lint import add_accepted, add_files, is_about_installation
from service.features.policy_tests.report_gathering import gather
from service.features.policy_tests.report_sections import attention, document
from service.laboratory.reporting.html_page import as_html
from service.laboratory.reporting.linting import acceptances, source_of
from service.laboratory.reporting.markdown import as_markdown
from service.operator.stores import reachable

_WRITERS = {"html": as_html, "markdown": as_markdown}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the file, its format and its contents."""
    parser.add_argument("--output", metavar="FILE", type=Path, required=True, help="the file to write")
    parser.add_argument("--format", choices=_WRITERS, help="html, unless FILE ends in .md")
    parser.add_argument(
        "--since", metavar="REVISION", type=int, help="report changes since then, with their authors"
    )
    parser.add_argument(
        "--mutate", action="store_true", help="measure the mutation score, which takes a while"
    )
    add_at(parser)
    add_accepted(parser)
    add_files(parser)
    add_data(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Write the report, and print the points that need attention.

    Raises the exceptions of ``gather`` and ``is_about_installation``, and OSError.
    """
    settings = table.load(environ)
    stored = is_about_installation(options, settings)
    source = source_of(settings, stored=stored)
    with reachable(settings) if stored else nullcontext(settings) as there:
        accepted = acceptances(there, options.accepted)
        reported = gather(
            there, accepted, options.since, source, at=options.at, stored=stored, mutate=options.mutate
        )
    file: Path = options.output
    write = _WRITERS[options.format or ("markdown" if file.suffix == ".md" else "html")]
    file.write_bytes("".join(write(document(reported))).encode())
    points = "; ".join(attention(reported))
    left = f"To look at: {points}." if points else "There are no open points."
    say(source_line(source), f"The report is in {file}. {left}")
