"""``${NAME:fallback}`` in the strings of the file."""

from pathlib import Path

import pytest

from service.settings import SettingsError, load
from tests.support.cases import with_each


def issuer(tmp_path: Path, text: str, **environ: str) -> str:
    file = tmp_path / "portcullis.toml"
    file.write_text(f"[auth]\njwt_issuer = '{text}'\n", encoding="utf-8")
    return load(environ, file=file).auth.jwt_issuer


@with_each(
    ("text", "environ", "expected"),
    [
        ("${NAME}", {"NAME": "a"}, "a"),
        ("${NAME:b}", {"NAME": "a"}, "a"),
        ("${NAME:b}", {}, "b"),
        ("<${NAME:}>", {}, "<>"),
        ("<${NAME:b}>", {"NAME": ""}, "<>"),
        ("${NAME:http://h:1/}", {}, "http://h:1/"),
        ("${A}-${B:b}-${A}", {"A": "a"}, "a-b-a"),
        ("${NAME}", {"NAME": "${OTHER}"}, "${OTHER}"),
        ("$${NAME}", {}, "${NAME}"),
        ("pa$$word$", {}, "pa$$word$"),
        ("$NAME", {"NAME": "a"}, "$NAME"),
    ],
)
def test_references_are_replaced_once_and_from_the_environment(
    tmp_path: Path, text: str, environ: dict[str, str], expected: str
) -> None:
    assert issuer(tmp_path, text, **environ) == expected


def test_a_reference_without_fallback_must_be_set(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"auth\.jwt_issuer: needs the environment variable NAME"):
        issuer(tmp_path, "${NAME}")


@with_each("text", ["${", "${}", "${1A}", "${NAME", "${NA-ME}", "${NAME:-"])
def test_a_broken_reference_is_a_fault(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"has a \$\{ that is not part of"):
        issuer(tmp_path, text, NAME="a")


def test_a_reference_gives_numbers_booleans_and_networks_their_text(tmp_path: Path) -> None:
    file = tmp_path / "portcullis.toml"
    file.write_text(
        '[server]\nport = "${PORT:80}"\ntrusted_proxies = ["${LAN:10.0.0.0/8}", "::1"]\n'
        '[auth]\nis_read_cookie = "${COOKIES:true}"\n[redis]\ntimeout = "${WAIT:0.5}"\n'
    )
    settings = load({"PORT": "81"}, file=file)
    assert (settings.server.port, settings.auth.is_read_cookie, settings.redis.timeout) == (81, True, 0.5)
    assert [str(network) for network in settings.server.trusted_proxies] == ["10.0.0.0/8", "::1/128"]


def test_a_value_that_the_environment_overrides_needs_no_variable(tmp_path: Path) -> None:
    assert issuer(tmp_path, "${NAME}", PORTCULLIS_AUTH__JWT_ISSUER="a") == "a"
