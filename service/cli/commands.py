"""Runs the commands; errors that an operator can correct are printed without a traceback.

A command imports its code when it runs: importing all of the service takes a second, and ``settings`` or
``admin list`` need a small part of it.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping

from service import settings as table
from service.cli.endings import INTERRUPTED, ended_in_order
from service.cli.output import say, say_text
from service.errors import Refusal, ValidationFailed
from service.kernel.operator_error import OperatorError

Environ = Mapping[str, str]


def run(options: Namespace, environ: Environ) -> int:
    """Run the command that ``options`` name; return the exit status: 1 after an error, else the command's.

    Raises OSError for a file that can't be used, and for standard output.
    """
    command = getattr(options, "run", None) or _COMMANDS[options.family, getattr(options, "action", None)]
    try:
        with ended_in_order():
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


def _serve(_options: Namespace, environ: Environ) -> None:
    from service.server.serve import serve

    serve(environ)


def _settings(_options: Namespace, _environ: Environ) -> None:
    say_text(table.markdown())


def _migrate(_options: Namespace, environ: Environ) -> None:
    from service.authz.publishing.derive import covered_by
    from service.authz.publishing.shipped import configured
    from service.operator.stores import reachable
    from service.records.migrate import additions, migrate
    from service.records.seed_catalogue import describe_additions

    with reachable(table.load(environ)) as settings:
        shipped = configured(settings.policy)
        changed = migrate(settings.database.url, shipped.extensions)
        pending = additions(settings.database.url, covered_by(shipped.model_text), shipped.extensions)
    say("The database has been migrated." if changed else "The database has this version's schema already.")
    say(*describe_additions(pending))


def _check(_options: Namespace, environ: Environ) -> int:
    from service.authz.publishing.shipped import configured
    from service.cli.database_check import check_database
    from service.operator.stores import reachable

    with reachable(table.load(environ)) as settings:
        lines, status = check_database(settings.database.url, configured(settings.policy).extensions)
    say(*lines)
    return status


def _create(options: Namespace, environ: Environ) -> None:
    from service.cli.admin import create_user
    from service.operator.stores import reachable

    with reachable(table.load(environ)) as settings:
        user_id = create_user(settings, options.user_name, options.role)
    say(f"User {options.user_name} has id {user_id}.")


def _reset(options: Namespace, environ: Environ) -> None:
    from service.cli.admin_reset import reset_password
    from service.operator.stores import reachable

    with reachable(table.load(environ)) as settings:
        done = reset_password(settings, options.user_name, enable=options.enable)
    say(f"The password of {done.user_name}, id {done.user_id}, is set; {done.ended} sessions have ended.")
    if done.kept_out:
        say(f"The user is still {done.kept_out}: use the option --enable to change that.")


def _reset_factors(options: Namespace, environ: Environ) -> None:
    from service.cli.admin_reset import reset_factors
    from service.operator.stores import reachable

    with reachable(table.load(environ)) as settings:
        done = reset_factors(settings, options.user_name)
    say(
        f"{done.user_name}, id {done.user_id}, has no second factor: {done.factors} were removed, and "
        f"{done.ended} sessions have ended. The password alone opens the account now."
    )
    if done.kept_out:
        say(f"The user is still {done.kept_out}.")


def _list(options: Namespace, environ: Environ) -> None:
    from service.cli.admin_list import list_users
    from service.operator.stores import reachable

    with reachable(table.load(environ)) as settings:
        say_text(list_users(settings, options.role, as_json=options.json))


def _verify(options: Namespace, environ: Environ) -> None:
    from service.cli.audit import verify
    from service.operator.stores import reachable

    with reachable(table.load(environ)) as settings:
        verify(
            settings,
            say,
            begin=options.begin,
            end=options.end,
            heads=options.heads,
            old_keys=options.old_keys,
        )


def _doctor(options: Namespace, environ: Environ) -> int:
    from service.cli.doctor import as_json, as_text, diagnose, status_of
    from service.web.observability.log_format import configure_logging

    # The report says what fails, on standard output.
    configure_logging("auto", "critical", sys.stderr.buffer)
    findings = diagnose(environ, options.state, options.url)
    say_text(as_json(findings) if options.json else as_text(findings))
    return status_of(findings, strict=options.strict)


_COMMANDS: dict[tuple[str, str | None], Callable[[Namespace, Environ], int | None]] = {
    ("serve", None): _serve,
    ("settings", None): _settings,
    ("db", "migrate"): _migrate,
    ("db", "check"): _check,
    ("admin", "create"): _create,
    ("admin", "reset-password"): _reset,
    ("admin", "reset-factors"): _reset_factors,
    ("admin", "list"): _list,
    ("audit", "verify"): _verify,
    ("doctor", None): _doctor,
}
