"""Builds and checks a release into ``dist``, and lists it: ``python3 dev.py release`` runs this."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import dev
import service
from tests.release.building import ROOT, build, digests, epoch, is_clean
from tests.release.checking import faults, versions


def main() -> int:
    """Return 0, or 1 if anything is wrong; then ``dist`` is left as it was."""
    os.environ["SOURCE_DATE_EPOCH"] = epoch()
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        for target, through_sdists in ((first, True), (second, False)):
            print(f"release: build {target.name}", flush=True)
            if dev.docs():
                return 1
            build(target, through_sdists=through_sdists)
        files = sorted(first.iterdir())
        wrong = [*different(digests(files), digests(sorted(second.iterdir()))), *faults(files)]
        print("release: install", flush=True)
        wrong += [
            f"{name} tells the version {printed!r}"
            for name, printed in versions(files)
            if printed != service.__version__
        ]
        if wrong:
            print(*(f"release: {fault}" for fault in wrong), sep="\n", file=sys.stderr)
            return 1
        dist = ROOT / "dist"
        shutil.rmtree(dist, ignore_errors=True)
        shutil.copytree(first, dist)
    listed = sorted(dist.iterdir())
    for path in listed:
        print(f"{digests([path])[path.name]}  {path.stat().st_size:>9,} bytes  {path.name}")
    if not is_clean():
        print("release: the checkout has changes that are not committed: others can't build the same")
    print(f"release: {len(listed)} files in {dist}; nothing is published")
    return 0


def different(first: dict[str, str], second: dict[str, str]) -> list[str]:
    """Return a sentence for each file that two builds have not made in the same way."""
    names = sorted({*first, *second})
    return [f"two builds of {name} differ" for name in names if first.get(name) != second.get(name)]


if __name__ == "__main__":
    sys.exit(main())
