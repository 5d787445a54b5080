"""Processes that are forked from one that has imported the service, instead of importing it themselves."""

import multiprocessing
import os
import sys
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


def forks() -> ForkServerContext:
    """Return the means to start processes, once the process that they are forked from has been started."""
    context = multiprocessing.get_context("forkserver")
    modules = ["tests.support.command_imports"]
    program = sys.modules["__main__"].__spec__
    if program and program.parent:  # pytest, which each process would import
        modules.append(program.parent)
    context.set_forkserver_preload(modules)
    before = os.environ.get("PYTHONPATH")
    # ``multiprocessing`` ignores modules that it does not find, as all of them below ``python -P``.
    os.environ["PYTHONPATH"] = f"{ROOT}:{before or ''}"
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    return context
