"""Runs the commands; errors that operators can correct are printed without a traceback.

A command imports its code when it runs: importing the whole service takes a second, and ``settings`` or
``admin list`` need little of it.
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping

from service import settings as table
from service.cli.endings import INTERRUPTED, ended_in_order
from service.cli.output import say, say_text
from service.errors import Refusal, ValidationFailed
from service.kernel.feature import named, off_by
from service.kernel.operator_error import OperatorError

Environ = Mapping[str, str]


def run(options: Namespace, environ: Environ) -> int:
    """Run the command that ``options`` name; return the exit status: 1 after an error, else the command's.

    Raises OSError for a file that can't be used, and for standard output.
    """
    command = getattr(options, "run", None) or _OWN[options.family]
    try:
        with ended_in_order():
            _require_on(getattr(options, "feature", ""), environ)
            return command(options, environ) or 0
    except ValidationFailed as refusal:
        for error in refusal.extra["errors"]:
            say(f"portcullis: {error['field']}: {error['message']}", stream=sys.stderr)
        return 1
    except (OperatorError, Refusal) as error:
        say_text(f"portcullis: {error}", stream=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _require_on(feature: str, environ: Environ) -> None:
    """Raise FeatureOffError for a command of a feature that the settings switch off."""
    if feature and named(feature) in off_by(table.load(environ).features.off):
        raise FeatureOffError(
            f"This command belongs to the feature {feature}, which is turned off in features.off"
        )


class FeatureOffError(OperatorError):
    """A command belongs to a feature that is off."""


def _serve(_options: Namespace, environ: Environ) -> None:
    from service.server.serve import serve

    serve(environ)


def _settings(_options: Namespace, _environ: Environ) -> None:
    say_text(table.markdown())


_OWN: dict[str, Callable[[Namespace, Environ], None]] = {"serve": _serve, "settings": _settings}
