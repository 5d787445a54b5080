"""Destinations of the export are read strictly, and no fault shows a secret."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from service.settings import Destination, SettingsError, load, written_secrets
from service.settings.secrecy import is_open_to_others
from tests.support.cases import with_each

SECRET = "whsec_k7h2m9Qx4vT1bW8nR5sY3cJ6dL0fGpZa"
HOOK = {"url": "https://siem.example.com/hook", "secret": SECRET}


def read(**tables: Any) -> tuple[Destination, ...]:
    """Return the destinations of these tables in the environment."""
    text = json.dumps(tables)
    return load({"PORTCULLIS_CONFIG": "", "PORTCULLIS_EXPORT__DESTINATIONS": text}).export.destinations


@with_each(
    "text", ["[" * 100_000, '{"siem":' * 100_000, '{"siem": {}, "siem": {}}', '{"siem": {"batch": NaN}}']
)
def test_a_text_that_is_no_table_by_name_is_a_fault_of_the_setting(text: str) -> None:
    with pytest.raises(SettingsError, match="must be a JSON object of destinations by name"):
        load({"PORTCULLIS_CONFIG": "", "PORTCULLIS_EXPORT__DESTINATIONS": text})


def test_a_file_that_is_nested_too_deep_is_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "portcullis.toml"
    file.write_text("a = " + "[" * 100_000)
    with pytest.raises(SettingsError, match="can't be read: it is nested too deep"):
        load({}, file=file)


def test_the_file_has_a_table_for_each_and_secrets_by_reference(tmp_path: Path) -> None:
    file = tmp_path / "portcullis.toml"
    file.write_text(
        '[export.destinations.siem]\nurl = "https://siem.example.com/hook"\nsecret = "${SIEM}"\n'
        'logs = ["decisions"]\nformat = "ocsf"\nbatch = 10\ntimeout = 2.5\nstart = "beginning"\n'
        f'[export.destinations.copy]\nurl = "file://{tmp_path}/a%20copy.jsonl"\n'
    )
    siem, copy = load({"SIEM": SECRET}, file=file).export.destinations
    assert (siem.name, siem.secret, siem.logs, siem.batch) == ("siem", SECRET, ("decisions",), 10)
    assert (copy.transport, copy.path) == ("file", f"{tmp_path}/a copy.jsonl")
    assert written_secrets(file) == ()
    file.write_text(file.read_text().replace("${SIEM}", SECRET))
    assert written_secrets(file) == ("export.destinations",)


@with_each(
    ("table", "expected"),
    [
        ({}, "needs a url"),
        ({"url": 5}, "must have texts"),
        ({"url": "ftp://host/"}, "must have a url of"),
        ({"url": "https:///hook"}, "a host"),
        ({"url": "https://host:99999/"}, "must have a url"),
        ({"url": "https://user:password@host/"}, "without spaces, fragment, user or password"),
        ({"url": "file://host/path"}, "absolute path"),
        ({"url": "syslog+tcp://host"}, "such as syslog+tcp://"),
        ({"url": "syslog+tcp://host:514/path"}, "such as syslog+tcp://"),
        ({"url": "https://host/"}, "needs a secret"),
        ({**HOOK, "secret": "whsec_short"}, "24 to 64"),
        ({**HOOK, "secret": SECRET.removeprefix("whsec_")}, "24 to 64"),
        ({**HOOK, "secret": ""}, "not empty"),
        ({**HOOK, "authorization": "a\nb"}, "visible ASCII"),
        ({**HOOK, "authorization_file": "relative"}, "absolute paths"),
        ({**HOOK, "authorization_file": "/missing"}, "can't be opened"),
        ({**HOOK, "ca_file": "/missing"}, "not an existing file"),
        ({**HOOK, "logs": []}, "a list, each once"),
        ({**HOOK, "logs": ["logins", "logins"]}, "a list, each once"),
        ({**HOOK, "logs": ["other"]}, "one of operations, logins, decisions"),
        ({**HOOK, "format": "ecs"}, "one of json, ocsf"),
        ({**HOOK, "batch": 0}, "a batch of 1 to 1000"),
        ({**HOOK, "batch": True}, "a batch of 1 to 1000"),
        ({**HOOK, "timeout": 61}, "a timeout of 0.1 to 60"),
        ({**HOOK, "secrets": "x"}, "no member secrets"),
        ({"url": "file:///missing/audit.jsonl"}, "not in an existing folder"),
        ({"url": "file:///tmp/audit%00.jsonl"}, "with an absolute path"),
        ({"url": "file:///tmp/audit.jsonl", "secret": SECRET}, "only http and https use"),
        ({"url": "file:///tmp/audit.jsonl", "ca_file": "/tmp"}, "only https and syslog+tls use"),
    ],
)
def test_a_member_that_does_not_fit_is_a_fault_without_its_value(
    table: dict[str, Any], expected: str
) -> None:
    with pytest.raises(SettingsError) as faults:
        read(siem=table)
    ((name, message),) = faults.value.faults
    assert name == "export.destinations"
    assert expected in message
    assert "siem" in message
    for secret in (SECRET, SECRET[6:], "password@", "whsec_short"):
        assert secret not in message


@with_each("name", ["", "Siem", "a b", "1st", "x" * 33])
def test_names_are_short_and_plain(name: str) -> None:
    with pytest.raises(SettingsError, match="must have names"):
        read(**{name: HOOK})


@with_each("text", ["[]", "{", '{"siem": 5}', "whsec_secret"])
def test_the_variable_is_a_json_object_of_tables(text: str) -> None:
    with pytest.raises(SettingsError, match="must") as faults:
        load({"PORTCULLIS_CONFIG": "", "PORTCULLIS_EXPORT__DESTINATIONS": text})
    assert "whsec_secret" not in str(faults.value)


def test_a_file_with_a_secret_is_for_its_owner_only_and_holds_a_good_one(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    table = {"url": HOOK["url"], "secret_file": str(file)}
    file.write_text(f"{SECRET}\n{SECRET}\n")
    file.chmod(0o600)
    assert read(siem=table)[0].secret_file == file
    file.chmod(0o644)
    with pytest.raises(SettingsError, match="open to other users"):
        read(siem=table)
    file.write_text("password")
    file.chmod(0o600)
    with pytest.raises(SettingsError, match="does not hold a valid one") as faults:
        read(siem=table)
    assert "password" not in str(faults.value)


def test_a_file_with_a_secret_may_be_mounted_as_a_link_to_a_file_of_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "..data").mkdir()
    file = tmp_path / "..data" / "secret"
    file.write_text(SECRET)
    (tmp_path / "secret").symlink_to("..data/secret")
    table = {"url": HOOK["url"], "secret_file": str(tmp_path / "secret")}
    file.chmod(0o600)
    assert read(siem=table)
    status = os.stat_result((stat.S_IFREG | 0o440, 1, 1, 1, 0, 1, 1, 0, 0, 0))  # of root
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not is_open_to_others(status)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert is_open_to_others(status)


def test_no_repr_shows_a_secret() -> None:
    (destination,) = read(siem={**HOOK, "authorization": "Bearer hidden"})
    assert SECRET not in repr(destination)
    assert "hidden" not in repr(destination)
