"""Paths as an operator sees them."""

from __future__ import annotations

from pathlib import Path


def near(path: Path) -> Path:
    """Return ``path`` relative to the working directory if it is below it, else as it is."""
    absolute = path.absolute()
    return absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else path
