"""Each guide works: its blocks are run one after another, against one service, and answer what is shown.

A block of another language than sh whose first line is a comment with the name of a file is written to it.
Pages that don't log in find the variables ``base`` and ``token``, of the administrator. Passwords that others
have set need no change first, except on the pages of ``INITIAL``, which have a service of their own.
"""

import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.docs.blocks import END, Block, blocks, check, script, steps
from tests.docs.pages import ROOT, pages
from tests.support.command_bridge import command_on_path
from tests.support.databases import database
from tests.support.inside import Inside, inside
from tests.support.left_out import NO_NODE
from tests.support.ports import free_port
from tests.web.served import served

OURS = "run by tests/docs/test_guides.py"
INITIAL = ("recover-from-lock-out",)
GUIDES = sorted(
    (
        page
        for page in pages()
        if any(block.mark == OURS for block in blocks(page)) and page.stem not in INITIAL
    ),
    key=lambda page: page.stem == "first-hour",  # the last, since it leaves roles that others would count
)
USED: Final = {
    "provision-from-a-directory": "scim",
    "tables": "tables",
    "first-hour": "decisions",
    "reviewing": "reviews",
}
"""The features that guides use."""
FILE = re.compile(r"(?:#|//) ([\w.-]+\.(?:py|mjs|toml))\n")

Place = tuple[Inside, dict[str, str]]


@asynccontextmanager
async def place(url: str, redis_url: str, programs: Path, **variables: str) -> AsyncIterator[Place]:
    """Run a service, and yield it with what a shell needs to reach it and to run commands beside it."""
    (programs / "python3").symlink_to(sys.executable)
    given = {"JWT_SECRET": "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"} | variables
    async with (
        inside(url, redis_url, **given) as running,
        served(running._app) as port,
        command_on_path(programs),
    ):
        yield (
            running,
            given
            | {
                "base": f"http://127.0.0.1:{port}",
                "DATABASE_URL": url,
                "REDIS_URL": redis_url,
                "PORTCULLIS_CONFIG": "",
                "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
                "FREE_PORT": str(free_port()),
            },
        )


@pytest.fixture(scope="module")
async def service(
    stores: EmbeddedStores,
    seeded_template: str,
    module_redis_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Place]:
    """The place of most pages."""
    with database(stores, seeded_template) as url:
        async with place(url, module_redis_url, tmp_path_factory.mktemp("bin")) as running:
            yield running


def files(shown: list[Block]) -> dict[str, str]:
    """Return the files that the blocks are, by name."""
    named = [(FILE.match(block.text), block.text) for block in shown if block.kind != "sh"]
    return {match[1]: text for match, text in named if match}


def placed(text: str, variables: dict[str, str]) -> str:
    """Return ``text`` with the ports of this test in place of those that guides show."""
    return text.replace("http://127.0.0.1:8080", variables["base"]).replace("8081", variables["FREE_PORT"])


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=page.stem,
            marks=[pytest.mark.feature(name)] if (name := USED.get(page.stem)) else [],
        )
        for page in GUIDES
    ],
)
async def test_a_guide_works_and_answers_what_it_shows(page: Path, service: Place, tmp_path: Path) -> None:
    await follow(page, service, tmp_path)


@pytest.mark.parametrize("name", INITIAL)
async def test_a_guide_works_where_a_password_that_others_have_set_is_changed_first(
    name: str, stores: EmbeddedStores, seeded_template: str, redis_url: str, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    with database(stores, seeded_template) as url:
        usual = {"PORTCULLIS_PASSWORD__INITIAL": "true"}
        async with place(url, redis_url, tmp_path / "bin", **usual) as running:
            await follow(ROOT / "docs" / "guides" / f"{name}.md", running, tmp_path)


async def follow(page: Path, running_place: Place, tmp_path: Path) -> None:
    """Run the blocks of a page one after another, and compare what they print with what it shows."""
    running, variables = running_place
    shown = [block for block in blocks(page) if block.mark == OURS]
    if any(".mjs" in block.text for block in shown) and shutil.which("node") is None:
        pytest.skip(NO_NODE)
    work = tmp_path / "work"
    work.mkdir()
    written = files(shown)
    for name, text in written.items():
        (work / name).write_text(placed(text, variables))
    taken = steps(block for block in shown if block.text not in written.values())
    shell = await asyncio.create_subprocess_exec(
        *("bash", "-e", "-c", placed(script(taken), variables)),
        cwd=work,
        env=variables | {"HOME": str(tmp_path), "token": await running.log_in()},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await asyncio.wait_for(shell.communicate(), 120)
    outputs = output.decode().split(f"{END}\n")
    assert shell.returncode == 0, f"{output.decode()}\n{errors.decode()}"
    for step, printed in zip(taken, outputs, strict=False):
        check(step, printed)
