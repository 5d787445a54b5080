"""docs/guides/second-factors.md: from an empty directory to two factors for all administrators."""

import asyncio
import shlex
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import blocks, check, steps
from tests.docs.pages import ROOT
from tests.docs.test_readme import checkout, outputs
from tests.support.command_bridge import command_on_path

PAGE = ROOT / "docs" / "guides" / "second-factors.md"
OURS = "run by tests/docs/test_second_factors_guide.py"

__all__ = ["checkout"]  # the fixture


PYTHON = f"""#!/bin/sh
[ "$4" = serve ] && exec {shlex.quote(sys.executable)} "$@"
shift 3  # -P -m service
exec portcullis "$@"
"""


@pytest.mark.extended
async def test_all_administrators_get_a_second_factor_and_nobody_is_locked_out(checkout: Path) -> None:
    (checkout / ".venv" / "bin" / "python").write_text(PYTHON)
    walk = steps(block for block in blocks(PAGE) if block.mark == OURS)
    async with command_on_path(checkout.parent / "bin"):
        printed = await asyncio.to_thread(outputs, checkout, walk)
    for step, output in zip(walk, printed, strict=True):
        check(step, output)
