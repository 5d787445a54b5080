"""What the commands import, for the process that they are forked from: importing it is all that it does."""

import sys

sys.modules.setdefault("rich", None)  # type: ignore[arg-type]  # as the command line does it

import service.launch.commands  # noqa: E402
import service.launch.prepare  # noqa: E402
import service.launch.worker  # noqa: E402, F401
