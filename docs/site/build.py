"""Builds the site of the documentation: ``python3 dev.py docs`` runs this, in an environment that has Sphinx.

The pages of the project are staged, built by Sphinx with every warning as an error, made to fit a strict
Content-Security-Policy, and checked. Only a faultless site replaces the one before.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from docs.site.pages import ROOT, SiteError, stage
from docs.site.strict import faults, outline

SITE = ROOT / "service" / "shipped" / "guide"
"""Where the service looks for it; wheels and images carry it from here."""


def main(made: Path) -> int:
    """Build, with the parts of pages in the folder ``made``; returns 0, or 1 after printing what is wrong."""
    parts = {path.name: path.read_text("utf-8") for path in made.iterdir()}
    with tempfile.TemporaryDirectory() as folder:
        staged, built = Path(folder, "pages").resolve(), Path(folder, "site").resolve()
        try:
            stage(staged, made=parts)
        except SiteError as error:
            print(f"docs: {error}", file=sys.stderr)
            return 1
        options = ["-b", "html", "-c", str(Path(__file__).parent), "-d", str(Path(folder, "doctrees"))]
        if sphinx([*options, "--fail-on-warning", "--keep-going", "--quiet", str(staged), str(built)]):
            return 1
        for needless in (".buildinfo", "objects.inv"):
            (built / needless).unlink(missing_ok=True)
        shutil.rmtree(built / "_sources", ignore_errors=True)
        outline(built)
        wrong = faults(built)
        for fault in wrong:
            print(f"docs: {fault}", file=sys.stderr)
        if wrong:
            return 1
        shutil.rmtree(SITE, ignore_errors=True)
        shutil.copytree(built, SITE)
    print(
        f"{len(list(SITE.rglob('*.html')))} pages in {SITE}: open index.html, or /docs/guide of the service."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
