"""Archives that the tests have made, unpacked by every Python that the project supports."""

import tarfile
from pathlib import Path
from typing import Literal


def unpack(archive: Path, folder: Path, *, kept: Literal["data", "tar"] = "data") -> None:
    """Unpack ``archive`` into ``folder`` by the filter ``kept`` of ``tarfile``: "tar" keeps modes.

    Pythons before 3.11.4 have no filters, and take no argument for one: they unpack all as it is.
    """
    with tarfile.open(archive) as packed:
        packed.extraction_filter = getattr(tarfile, f"{kept}_filter", None)
        packed.extractall(folder)
