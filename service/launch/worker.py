"""What each worker process runs."""

from __future__ import annotations

import os
import sys

# structlog and ua-parser take these in wherever they are installed: six megabytes of each worker for colours
# and a file format that it never uses. Before they are imported, which the lines below do.
for _unused in ("rich", "yaml"):
    sys.modules.setdefault(_unused, None)  # type: ignore[arg-type]

# ruff: noqa: E402 - see above
from service.app import create_app
from service.authz.shipped import configured
from service.launch.parent import end_with_parent
from service.settings import load
from service.web.entrance import Entrance
from service.web.observe import configure_logging


def app() -> Entrance:
    """Return the application of this worker, with the settings that the launcher put into the environment."""
    end_with_parent()
    settings = load(os.environ)
    configure_logging(settings.log.format, settings.log.level)
    return create_app(settings, configured(settings.policy))
