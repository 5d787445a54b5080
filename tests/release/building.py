"""Builds a release: two distributions for Python, each as sdist and wheel, and a package for npm."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Final

import dev
from tests.support.unpacking import unpack

ROOT: Final = dev.ROOT
SOURCES: Final = (ROOT, ROOT / "service" / "features" / "decisions" / "client")
BROWSER: Final = ROOT / "service" / "console" / "client"
_EPOCH: Final = "1580601600"  # that of hatchling, where no commit tells a time


def epoch() -> str:
    """Return the time that all archives have, in seconds: of the last commit, or a constant without one."""
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return _EPOCH
    return printed.stdout.strip() or _EPOCH


def is_clean() -> bool:
    """True if the checkout is that of its commit, so that others can build the same."""
    command = ["git", "-C", str(ROOT), "status", "--porcelain"]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return False
    return printed.returncode == 0 and not printed.stdout.strip()


def build(folder: Path, *, through_sdists: bool) -> list[Path]:
    """Build everything into ``folder``, and return the files in order.

    Wheels are built from what the sdists hold, as installers do, or from the checkout: both must be equal.
    """
    for source in SOURCES:
        _hatchling(source, "sdist", folder)
        if not through_sdists:
            _hatchling(source, "wheel", folder)
    if through_sdists:
        for archive in sorted(folder.glob("*.tar.gz")):
            with tempfile.TemporaryDirectory() as unpacked:
                unpack(archive, Path(unpacked))
                (source,) = Path(unpacked).iterdir()
                _hatchling(source, "wheel", folder)
    _pack(folder)
    return sorted(folder.iterdir())


def _hatchling(source: Path, target: str, folder: Path) -> None:
    program = str(dev.RELEASE_ENVIRONMENT / "bin" / "hatchling")
    environment = os.environ | {"SOURCE_DATE_EPOCH": epoch()}
    subprocess.run(
        [program, "build", "--target", target, "--directory", str(folder)],
        cwd=source,
        env=environment,
        stdout=subprocess.DEVNULL,
        check=True,
    )


def _pack(folder: Path) -> None:
    """Write what ``npm pack`` would: the files of package.json and the licence, below ``package/``."""
    about = json.loads((BROWSER / "package.json").read_text("utf-8"))
    sources = {name: BROWSER / name for name in ("package.json", *about["files"])}
    sources["LICENSE"] = ROOT / "LICENSE"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, path in sorted(sources.items()):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mtime, entry.mode = path.stat().st_size, int(epoch()), 0o644
            with path.open("rb") as content:
                archive.addfile(entry, content)
    target = folder / f"{about['name']}-{about['version']}.tgz"
    target.write_bytes(gzip.compress(packed.getvalue(), mtime=0))


def digests(files: list[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file by its name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
