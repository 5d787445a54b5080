"""The launcher hands its settings to the workers as variables."""

from __future__ import annotations

import dataclasses
from ipaddress import ip_network
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.settings import Settings, load
from service.settings.values import Digests, Networks, Paths

_TEXT = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=40)
_PATHS = _TEXT.map(lambda text: Path("/" + text.replace("~", "-")))
_BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    float: st.floats(0.1, 10),
    str: _TEXT.filter(lambda text: bool(text.strip())),
    Path: _PATHS,
    Path | None: st.none() | _PATHS,
    Networks: st.lists(st.ip_addresses().map(ip_network), max_size=3).map(tuple),
    Paths: st.lists(st.sampled_from([Path("/etc/a.yaml"), Path("/etc/b c.yaml")]), max_size=3).map(Paths),
    Digests: st.lists(st.text("0123456789abcdef", min_size=64, max_size=64), max_size=3).map(Digests),
}
_BY_TITLE: dict[str, st.SearchStrategy[Any]] = {
    "server.port": st.integers(0, 65535),
    "server.workers": st.integers(1, 64),
    "server.min_rate": st.integers(0, 10**6),
    "server.max_connections": st.integers(0, 10**6),
    "server.keep_alive": st.floats(1, 3600),
    "server.metrics_token": st.sampled_from(["", "mX3-" * 8]),
    "database.url": st.sampled_from(["", "postgresql://u:p%40w@h:1/d", "postgresql:///d?host=/run/x"]),
    "database.pool_size": st.integers(1, 200),
    "redis.url": st.sampled_from(["", "redis://:p@h:1/0", "unix:///run/valkey.sock?db=0"]),
    "objstore.endpoint": st.sampled_from(["", "https://s3.example"]),
    "objstore.presigned_life": st.integers(1, 3600),
    "upload.max_bytes": st.integers(1, 10**15),
    "upload.types": st.sampled_from(["image/png", "text/plain, application/pdf"]),
    "upload.user_bytes": st.integers(0, 10**15),
    "upload.user_files": st.integers(0, 10**9),
    "upload.concurrent": st.integers(1, 1000),
    "upload.idle_timeout": st.floats(1, 300),
    "upload.sweep_interval": st.integers(0, 86_400),
    "upload.link_life": st.integers(1, 3600),
    "upload.link_max_life": st.integers(3600, 86_400),
    "upload.public_url": st.sampled_from(["", "https://admin.example"]),
    "auth.access_timeout": st.integers(1, 3600),
    "auth.refresh_timeout": st.integers(3600, 10**6),
    "auth.session_max_age": st.integers(1, 10**6),
    "auth.refresh_race_window": st.integers(0, 300),
    "auth.refresh_grace": st.integers(0, 300),
    "auth.max_devices": st.integers(1, 1000),
    "auth.token_name": st.sampled_from(["Authorization", "X-Token"]),
    "auth.token_prefix": st.sampled_from(["", "Bearer ", "Token"]),
    "auth.jwt_algorithm": st.sampled_from(["HS256", "HS384", "HS512"]),
    "auth.jwt_secret": st.integers(0, 2**32).map(lambda seed: Random(seed).randbytes(64).hex()),
    "auth.jwt_leeway": st.integers(0, 60),
    "password.argon2_memory": st.integers(19_456, 10**6),
    "password.argon2_time": st.integers(2, 16),
    "password.argon2_parallelism": st.integers(1, 16),
    "password.max_waiting": st.integers(1, 10_000),
    "password.min_length": st.integers(8, 64),
    "password.max_length": st.integers(64, 1024),
    "oplog.memory_limit": st.integers(2**20, 2**30),
    "oplog.stream_limit": st.integers(2**20, 2**36),
    "oplog.operation_days": st.integers(0, 36_500),
    "oplog.login_days": st.integers(0, 36_500),
    "oplog.chain_key": st.sampled_from(["", "the key of the chains, long enough"]),
    "throttle.window": st.integers(1, 86_400),
    "throttle.login_account": st.integers(1, 10**6),
    "throttle.login_address": st.integers(1, 10**6),
    "throttle.refresh_account": st.integers(1, 10**6),
    "throttle.refresh_address": st.integers(1, 10**6),
    "throttle.known_device_life": st.integers(60, 10**6),
}


def _values(title: str, annotation: Any) -> st.SearchStrategy[Any]:
    if title in _BY_TITLE:
        return _BY_TITLE[title]
    if get_origin(annotation) is Literal:
        return st.sampled_from(get_args(annotation))
    return _BY_TYPE[annotation]


def _section(name: str, owner: type) -> st.SearchStrategy[Any]:
    values = {field: _values(f"{name}.{field}", kind) for field, kind in get_type_hints(owner).items()}
    return st.builds(owner, **values)


SETTINGS = st.builds(
    Settings, **{name: _section(name, owner) for name, owner in get_type_hints(Settings).items()}
)


@given(SETTINGS)
def test_a_worker_reads_the_very_settings_of_its_launcher(settings: Settings) -> None:
    assert load(settings.environment()) == settings


def test_a_worker_is_not_touched_by_the_file_nor_by_what_the_launcher_resolved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {"PORTCULLIS_DATABASE__URL": "", "DATABASE_URL": "", "XDG_DATA_HOME": "/x"}
    settings = load(environ)
    embedded = dataclasses.replace(
        settings,
        database=dataclasses.replace(settings.database, url="postgresql:///portcullis?host=/run"),
        auth=dataclasses.replace(settings.auth, jwt_secret="kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"),
    )
    (tmp_path / "portcullis.toml").write_text("[auth]\nmax_devices = 1\nwrong = 1\n")
    assert load({**environ, "XDG_DATA_HOME": "/y", **embedded.environment()}) == embedded
