"""Small file systems in memory, which can be filled to the last byte."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILLER = "filler"
NEEDS_MOUNT = "needs the right to mount a file system of limited size (run as root)"


@contextmanager
def small_file_system(folder: Path, mebibytes: int) -> Iterator[bool]:
    """Mount a tmpfs of a size on ``folder`` until leaving; yields False where that is not permitted."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0700", "tmpfs", str(folder)]
    try:
        mounted = (
            os.geteuid() == 0 and subprocess.run(words, capture_output=True, check=False).returncode == 0
        )
    except OSError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Write a file until no byte of the file system of ``folder`` is free."""
    with (folder / FILLER).open("ab", buffering=0) as filler:
        size = 1024 * 1024
        while size:
            try:
                filler.write(bytes(size))
            except OSError:
                size //= 2


def unfill(folder: Path) -> None:
    """Give the space back."""
    (folder / FILLER).unlink(missing_ok=True)
