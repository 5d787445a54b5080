"""The commands ``portcullis state …``: roles, menus, resources and bindings as a file that people review.

A command is a module with ``add_arguments`` and ``run``. ``writing`` and ``reading`` know the file,
``entries`` what an object of it may say.
"""

from __future__ import annotations

from typing import Final

from service.cli.lazy_commands import Command

COMMANDS: Final = (
    Command("export", "write roles, menus, resources and bindings into a file"),
    Command("plan", "show what applying a file would change, and who gains and loses what; change nothing"),
    Command("apply", "make roles, menus, resources and bindings equal to a file"),
)
