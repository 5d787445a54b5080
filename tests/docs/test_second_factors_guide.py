"""docs/guides/second-factors.md: from an empty directory to two factors for all administrators."""

from __future__ import annotations

from pathlib import Path

from tests.docs.blocks import blocks, check, steps
from tests.docs.pages import ROOT
from tests.docs.test_readme import checkout, outputs

PAGE = ROOT / "docs" / "guides" / "second-factors.md"
OURS = "run by tests/docs/test_second_factors_guide.py"

__all__ = ["checkout"]  # the fixture


def test_all_administrators_get_a_second_factor_and_nobody_is_locked_out(checkout: Path) -> None:
    walk = steps(block for block in blocks(PAGE) if block.mark == OURS)
    for step, output in zip(walk, outputs(checkout, walk), strict=True):
        check(step, output)
