"""The parts of pages that are made from the code: ``python -m docs.site.made FOLDER`` writes them.

A page names its part in a line of its own, ``<!-- made: settings -->``. The part comes from the code of the
service, and the site is built in an environment that lacks its packages: so this runs before, in another one.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from docs.site import asvs, command_line, events, sentences
from service import settings
from service.kernel import permission_catalogue


@cache
def parts() -> Mapping[str, str]:
    """Return each part as Markdown, by its name."""
    return {
        "asvs": asvs.markdown(),
        "commands": command_line.markdown(),
        "events": events.markdown(),
        "sentences": sentences.markdown(),
        "permissions": permission_catalogue.markdown(),
        "settings": settings.markdown(),
    }


def write(folder: Path, made: Mapping[str, str]) -> None:
    """Write each part to a file of ``folder``, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), parts())
