"""guides/verifying-tokens.md: its programs verify real tokens, and read their rights as the service does."""

import asyncio
import itertools
import os
import re
import runpy
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from service.kernel.codes import HeldCodes
from tests.authn.keys import settings_for
from tests.docs.pages import ROOT, between
from tests.support.inside import Inside, inside
from tests.support.left_out import NO_NODE
from tests.web.served import served

PAGE = (ROOT / "docs" / "guides" / "verifying-tokens.md").read_text(encoding="utf-8")
PASSWORD = "six stubborn otters"
CODE = "system:role:list"


def program(language: str, folder: Path) -> Path:
    """Write the program of the page into ``folder``."""
    block = re.search(r"```\w+\n(.*)```\n", between(PAGE, language), re.DOTALL)
    assert block is not None
    path = folder / f"verify.{'py' if language == 'python' else 'ts'}"
    path.write_text(block[1], encoding="utf-8")
    return path


@dataclass(frozen=True)
class Beside:
    """A service, where it is, and tokens of users: one of them has to change the password first."""

    inside: Inside
    port: int
    powerful: str
    powerless: str
    initial: str

    async def said_by(self, *command: str) -> tuple[int, str]:
        """Return the exit status and the output of a program that may read the permission map."""
        environ = {"PATH": os.environ["PATH"], "READER_TOKEN": self.powerful}
        environ["PORTCULLIS_URL"] = f"http://127.0.0.1:{self.port}"
        process = await asyncio.create_subprocess_exec(
            *command, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        output, _ = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode is not None
        return process.returncode, output.decode().strip()


@pytest.fixture(scope="module")
def key_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys")


@pytest.fixture
async def beside(seeded_database_url: str, redis_url: str, key_folder: Path) -> AsyncIterator[Beside]:
    keys = settings_for(key_folder, "ES256", "")
    signing = {
        "PORTCULLIS_AUTH__JWT_ALGORITHM": "ES256",
        "PORTCULLIS_AUTH__JWT_PRIVATE_KEY": str(keys.jwt_private_key),
        "PORTCULLIS_AUTH__JWT_PUBLIC_KEY": str(keys.jwt_public_key),
    }
    user = {"userName": "wanda", "nickName": "Wanda", "password": PASSWORD, "roleIds": []}
    strict = signing | {"PORTCULLIS_PASSWORD__INITIAL": "true"}
    async with inside(seeded_database_url, redis_url, **signing) as service, served(service._app) as port:
        await service.data("POST", "/api/user", user)
        async with inside(seeded_database_url, redis_url, **strict) as other:
            initial = await other.log_in("wanda", PASSWORD)
        service.token = await service.log_in()  # since the other one has logged its administrator in
        yield Beside(service, port, service.token, await service.log_in("wanda", PASSWORD), initial)


async def check(beside: Beside, *command: str) -> None:
    assert await beside.said_by(*command, beside.powerful, CODE) == (0, f"admin may {CODE}")
    assert await beside.said_by(*command, beside.powerless, CODE) == (0, f"wanda may not {CODE}")
    head, body, signature = beside.powerful.split(".")
    forged = ".".join([head, beside.powerless.split(".")[1], signature])
    for bad in (beside.initial, forged, f"{head}.{body}.{signature[:-4]}AAAA", "x.y.z"):
        status, output = await beside.said_by(*command, bad, CODE)
        assert status != 0
        assert output == ""


async def test_the_python_program_tells_rights_by_tokens_alone(beside: Beside, tmp_path: Path) -> None:
    await check(beside, sys.executable, str(program("python", tmp_path)))


async def test_the_map_has_the_bits_of_tokens_and_a_tag(beside: Beside) -> None:
    answer = await beside.inside.ask("GET", "/api/policy/permission-map")
    permission_map = answer.json["data"]
    assert permission_map["bits"].keys() >= {"*", CODE}
    assert len(set(permission_map["bits"].values())) == len(permission_map["bits"])
    assert answer.header("x-policy-revision") == str(permission_map["revision"])
    again = await beside.inside.ask("GET", "/api/policy/permission-map")
    assert again.header("etag") == answer.header("etag") is not None
    menu = {"menuType": "Button", "title": "One more", "authMark": "one:more"}
    created = await beside.inside.ask("POST", "/api/menu", menu)
    assert created.status == 201, created.body
    changed = await beside.inside.ask("GET", "/api/policy/permission-map")
    assert "one:more" in changed.json["data"]["bits"]
    assert changed.header("etag") != answer.header("etag")
    refused = await beside.inside.ask("GET", "/api/policy/permission-map", token=beside.powerless)
    assert (refused.status, refused.json["required"]) == (403, ["system:policy:read"])


def functions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[..., Any]]:
    monkeypatch.setenv("PORTCULLIS_URL", "http://127.0.0.1:1")
    return runpy.run_path(str(program("python", folder)))


async def test_the_python_program_reads_wildcards_as_the_service_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grants = functions(tmp_path, monkeypatch)["grants"]
    requested = [":".join(parts) for size in (1, 2, 3) for parts in itertools.product("ab", repeat=size)]
    held = [":".join(parts) for size in (1, 2, 3) for parts in itertools.product("ab*", repeat=size)]
    for held_code, code in itertools.product(held, requested):
        codes = HeldCodes([held_code])
        expected = (
            codes.holds_exactly(code)
            or codes.holds_everything(code)
            or codes.holds_subtree(code)
            or codes.holds_pattern(code)
        )
        assert grants(held_code, code) is expected, (held_code, code)


@pytest.mark.extended
@pytest.mark.skipif(shutil.which("node") is None or shutil.which("npm") is None, reason=NO_NODE)
async def test_the_typescript_program_tells_rights_by_tokens_alone(beside: Beside, tmp_path: Path) -> None:
    program("typescript", tmp_path)
    install = await asyncio.create_subprocess_exec(
        *("npm", "install", "--silent", "--no-audit", "--no-fund", "typescript@5", "@types/node@20"),
        cwd=tmp_path,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    if await asyncio.wait_for(install.wait(), 180):
        pytest.skip("the TypeScript compiler can't be installed here")
    compiled = await asyncio.create_subprocess_exec(
        *("node_modules/.bin/tsc", "--strict", "--noUncheckedIndexedAccess", "--target", "es2022"),
        *("--module", "nodenext", "--lib", "es2022,dom", "--types", "node", "verify.ts"),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await asyncio.wait_for(compiled.communicate(), 120)
    assert compiled.returncode == 0, output
    await check(beside, "node", str(tmp_path / "verify.js"))
