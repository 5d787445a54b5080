"""Where a value comes from, which values are taken, and how faults are told."""

import dataclasses
from ipaddress import ip_network
from pathlib import Path

import pytest

from service.settings import Row, Settings, SettingsError, load, table
from tests.support.cases import with_each

SECRET = "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"


def write(folder: Path, text: str) -> Path:
    file = folder / "portcullis.toml"
    file.write_text(text, encoding="utf-8")
    return file


def faults(environ: dict[str, str], file: Path | None = None) -> dict[str, str]:
    with pytest.raises(SettingsError) as raised:
        load({"PORTCULLIS_CONFIG": "", **environ}, file=file)
    return dict(raised.value.faults)


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_without_environment_and_file_every_setting_has_its_default() -> None:
    settings = load({"HOME": "/home/ann"})
    assert settings.auth.access_timeout == 7200
    assert settings.auth.token_prefix == "Bearer "
    assert settings.password.argon2_memory == 19456
    assert settings.server.data == Path("/home/ann/.local/share/portcullis")
    assert 1 <= settings.server.workers <= 4


def test_the_data_directory_follows_the_xdg_variable() -> None:
    assert load({"HOME": "/h", "XDG_DATA_HOME": "/x"}).server.data == Path("/x/portcullis")
    assert load({"HOME": "/h", "XDG_DATA_HOME": "x"}).server.data == Path("/h/.local/share/portcullis")


def test_the_environment_beats_the_file_and_the_file_beats_the_default(tmp_path: Path) -> None:
    write(tmp_path, "[auth]\nmax_devices = 3\naccess_timeout = 60\n")
    auth = load({"PORTCULLIS_AUTH__MAX_DEVICES": "4"}).auth
    assert (auth.max_devices, auth.access_timeout, auth.refresh_timeout) == (4, 60, 604_800)


def test_the_configuration_file_is_the_one_that_the_variable_names(tmp_path: Path) -> None:
    write(tmp_path, "[auth]\nmax_devices = 3\n")
    other = tmp_path / "other.toml"
    other.write_text("[auth]\nmax_devices = 9\n")
    assert load({}).auth.max_devices == 3
    assert load({"PORTCULLIS_CONFIG": str(other)}).auth.max_devices == 9
    assert load({"PORTCULLIS_CONFIG": ""}).auth.max_devices == 5
    assert load({"PORTCULLIS_CONFIG": ""}, file=other).auth.max_devices == 9


def test_a_named_file_that_is_missing_is_a_fault() -> None:
    assert "No such file" in faults({"PORTCULLIS_CONFIG": "none.toml"})["none.toml"]


def test_a_file_that_is_not_toml_is_one_fault_beside_those_of_the_environment(tmp_path: Path) -> None:
    messages = faults(
        {"PORTCULLIS_SERVER__PORT": "x", "DATABASE_URL": "postgresql://h/d"}, write(tmp_path, "[auth")
    )
    assert sorted(messages) == sorted([str(tmp_path / "portcullis.toml"), "server.port"])


def test_the_fixed_names_give_their_settings() -> None:
    given = {row.env: f"given-{row.name}" for row in table() if row.env}
    given |= {
        "DATABASE_URL": "postgresql://db/portcullis",
        "DATABASE_DIRECT_URL": "postgresql://db:5433/portcullis",
        "DATABASE_REPLICA_URL": "postgresql://standby/portcullis",
        "REDIS_URL": "redis://store:6379/0",
        "OBJSTORE_ENDPOINT": "https://s3.example",
        "JWT_SECRET": SECRET,
        "PORTCULLIS_EXTENSIONS": "shop, tools.desk, /srv/a b/desk",
    }
    settings = load({name: value for name, value in given.items() if name})
    assert settings.database.url == given["DATABASE_URL"]
    assert settings.redis.url == given["REDIS_URL"]
    assert settings.auth.jwt_secret == SECRET
    assert settings.policy.extensions == ("shop", "tools.desk", "/srv/a b/desk")
    assert dataclasses.astuple(settings.objstore)[:5] == (
        "https://s3.example",
        "given-bucket",
        "given-region",
        "given-access_key",
        "given-secret_key",
    )


def test_a_line_break_is_refused_in_every_setting_by_each_of_its_variables() -> None:
    variables = [(row.title, variable) for row in table() for variable in row.variables]
    assert len(variables) > 80
    taken = [variable for title, variable in variables if title not in faults({variable: "a\nb"})]
    assert taken == []


@with_each(
    ("variable", "text", "setting"),
    [
        ("PORTCULLIS_AUTH__CONCURRENT_LOGIN", "True", "auth.concurrent_login"),
        ("PORTCULLIS_AUTH__CONCURRENT_LOGIN", "1", "auth.concurrent_login"),
        ("PORTCULLIS_AUTH__CONCURRENT_LOGIN", "", "auth.concurrent_login"),
        ("PORTCULLIS_AUTH__MAX_DEVICES", "0", "auth.max_devices"),
        ("PORTCULLIS_AUTH__MAX_DEVICES", "5.0", "auth.max_devices"),
        ("PORTCULLIS_AUTH__MAX_DEVICES", "1_0", "auth.max_devices"),
        ("PORTCULLIS_AUTH__MAX_DEVICES", "٣", "auth.max_devices"),
        ("PORTCULLIS_SERVER__PORT", "65536", "server.port"),
        ("PORTCULLIS_SERVER__PORT", "-1", "server.port"),
        ("PORTCULLIS_REDIS__TIMEOUT", "nan", "redis.timeout"),
        ("PORTCULLIS_REDIS__TIMEOUT", "inf", "redis.timeout"),
        ("PORTCULLIS_AUTH__JWT_ALGORITHM", "none", "auth.jwt_algorithm"),
        ("PORTCULLIS_AUTH__JWT_ALGORITHM", "hs256", "auth.jwt_algorithm"),
        ("PORTCULLIS_AUTH__TOKEN_NAME", "X Token", "auth.token_name"),
        ("PORTCULLIS_AUTH__TOKEN_PREFIX", "Bearer  ", "auth.token_prefix"),
        ("PORTCULLIS_AUTH__JWT_ISSUER", " ", "auth.jwt_issuer"),
        ("PORTCULLIS_PASSWORD__ARGON2_MEMORY", "19455", "password.argon2_memory"),
        ("PORTCULLIS_PASSWORD__MIN_LENGTH", "7", "password.min_length"),
        ("PORTCULLIS_PASSWORD__MIN_LENGTH_WITH_FACTOR", "7", "password.min_length_with_factor"),
        ("PORTCULLIS_PASSWORD__OWN_WORDS", "acme,ac", "password.own_words"),
        ("PORTCULLIS_PASSWORD__OWN_WORDS", "acme,", "password.own_words"),
        ("PORTCULLIS_PASSWORD__OWN_WORDS", "a" * 65, "password.own_words"),
        ("PORTCULLIS_SERVER__DATA", "", "server.data"),
        ("PORTCULLIS_SERVER__DATA", "~/data", "server.data"),
        ("PORTCULLIS_SERVER__TRUSTED_PROXIES", "10.0.0.1/8", "server.trusted_proxies"),
        ("PORTCULLIS_SERVER__TRUSTED_PROXIES", "10.0.0.0/8,", "server.trusted_proxies"),
        ("PORTCULLIS_SERVER__TRUSTED_PROXIES", "0.0.0.0/0", "server.trusted_proxies"),
        ("PORTCULLIS_SERVER__PUBLIC_URL", "http://access.example.com", "server.public_url"),
        ("PORTCULLIS_SERVER__PUBLIC_URL", "https://access.example.com/", "server.public_url"),
        ("PORTCULLIS_SERVER__PUBLIC_URL", "https://access.example.com/tenant", "server.public_url"),
        ("PORTCULLIS_SERVER__PUBLIC_URL", "https://ann@example.com", "server.public_url"),
        ("PORTCULLIS_SERVER__PUBLIC_URL", "https://access.example.com?x", "server.public_url"),
        ("PORTCULLIS_SERVER__CORS_ORIGINS", "*", "server.cors_origins"),
        ("PORTCULLIS_SERVER__CORS_ORIGINS", "null", "server.cors_origins"),
        ("PORTCULLIS_SERVER__CORS_ORIGINS", "https://*.example.com", "server.cors_origins"),
        ("PORTCULLIS_SERVER__CORS_ORIGINS", "https://example.com/", "server.cors_origins"),
        ("PORTCULLIS_SERVER__CORS_ORIGINS", "https://example.com/app", "server.cors_origins"),
        ("PORTCULLIS_SERVER__CORS_ORIGINS", "https://example.com,", "server.cors_origins"),
        ("PORTCULLIS_SERVER__CORS_ORIGINS", "https://ann@example.com", "server.cors_origins"),
        ("PORTCULLIS_SERVER__CORS_ORIGINS", "https://example.com:65536", "server.cors_origins"),
        ("PORTCULLIS_SERVER__CORS_ORIGINS", "https://exämple.com", "server.cors_origins"),
        ("PORTCULLIS_SERVER__CORS_ORIGINS", "http://127.1", "server.cors_origins"),
        ("PORTCULLIS_SERVER__CORS_ORIGINS", "http://[::1", "server.cors_origins"),
        ("PORTCULLIS_SERVER__CORS_ORIGINS", "example.com", "server.cors_origins"),
        ("PORTCULLIS_SERVER__CORS_ORIGINS", "file://", "server.cors_origins"),
        ("PORTCULLIS_LOG__FORMAT", "xml", "log.format"),
        ("DATABASE_URL", "mysql://h/d", "database.url"),
        ("DATABASE_URL", "postgresql:h", "database.url"),
        ("DATABASE_URL", "postgresql://u:p@h:port/d", "database.url"),
        ("DATABASE_URL", "postgresql://h1:5432,h2:70000/d", "database.url"),
        ("DATABASE_URL", "postgresql://u:p@ss@h/d", "database.url"),
        ("REDIS_URL", "redis://h:port", "redis.url"),
        ("REDIS_URL", "redis+sentinel://h1", "redis.url"),
        ("REDIS_URL", "redis+sentinel://h1,[::1/name", "redis.url"),
        ("REDIS_URL", "rediss+sentinel://h1:0,h2/name", "redis.url"),
        ("PORTCULLIS_SERVER__PUBLIC_URL", "https://access.example.com:99999", "server.public_url"),
        ("PORTCULLIS_SERVER__PUBLIC_URL", "https://[::::]", "server.public_url"),
        ("OBJSTORE_ENDPOINT", "s3.example", "objstore.endpoint"),
    ],
)
def test_a_value_of_the_wrong_form_is_a_fault_of_its_setting(variable: str, text: str, setting: str) -> None:
    messages = faults({variable: text})
    assert setting in messages
    assert variable in messages[setting]


@with_each(
    "url",
    [
        "postgresql://u:p@h1:5432,h2:5433/d",
        "postgresql://u:p#?@h1,h2:5433",
        "postgresql://[::1]:5432,[fe80::1]/d",
        "postgres:///d?host=h1,h2&port=1,2",
        "postgresql+psycopg://u@/d?host=/run/postgresql&port=5432",
    ],
)
def test_every_form_of_a_database_url_that_libpq_reads_is_accepted(url: str) -> None:
    secret = {"JWT_SECRET": "Zq8rT1xV5nB3kM7wP9sD2fG6hJ4lC0yX"}
    assert load({"DATABASE_URL": url} | secret).database.url == url


@with_each("hosts", ["s1:26379,[::1]:26379", "[::1]", "s1,s2:1,[fe80::1]:3"])
def test_a_store_behind_sentinel_may_have_any_list_of_hosts(hosts: str) -> None:
    url = f"redis+sentinel://u:p%40@{hosts}/portcullis?db=1"
    assert load({"REDIS_URL": url, "JWT_SECRET": SECRET}).redis.url == url


def test_networks_are_read_from_a_list_in_the_file_and_from_commas_in_the_environment(tmp_path: Path) -> None:
    networks = (ip_network("10.0.0.0/8"), ip_network("::1/128"))
    file = write(tmp_path, '[server]\ntrusted_proxies = ["10.0.0.0/8", "::1"]\n')
    assert load({}, file=file).server.trusted_proxies == networks
    given = {"PORTCULLIS_SERVER__TRUSTED_PROXIES": "10.0.0.0/8, ::1"}
    assert load(given).server.trusted_proxies == networks


def test_a_choice_from_the_environment_is_a_plain_text() -> None:
    assert type(load({"PORTCULLIS_LOG__FORMAT": "json"}).log.format) is str


def test_origins_are_read_as_browsers_write_them(tmp_path: Path) -> None:
    file = write(
        tmp_path, '[server]\ncors_origins = ["HTTPS://App.Example.com:443", "http://[0:0::1]:3000"]\n'
    )
    assert load({}, file=file).server.cors_origins == ("https://app.example.com", "http://[::1]:3000")
    given = "http://localhost:5173, https://a.example , https://A.example"
    origins = load({"PORTCULLIS_SERVER__CORS_ORIGINS": given}).server.cors_origins
    assert origins == ("http://localhost:5173", "https://a.example")


def test_digests_are_read_from_a_list_in_the_file_and_from_commas_in_the_environment(tmp_path: Path) -> None:
    digests = ("0a" * 32, "f1" * 32)
    file = write(tmp_path, f'[policy]\nown_digests = ["{digests[0]}", "{digests[1]}"]\n')
    assert load({}, file=file).policy.own_digests == digests
    assert load({"PORTCULLIS_POLICY__OWN_DIGESTS": ", ".join(digests)}).policy.own_digests == digests
    assert "policy.own_digests" in faults({"PORTCULLIS_POLICY__OWN_DIGESTS": "0A" * 32})


def test_words_are_read_from_a_list_in_the_file_and_from_commas_in_the_environment(tmp_path: Path) -> None:
    file = write(tmp_path, '[password]\nown_words = ["Acme", "rocket sled"]\n')
    assert load({}, file=file).password.own_words == ("Acme", "rocket sled")
    assert load({"PORTCULLIS_PASSWORD__OWN_WORDS": "Acme, rocket sled"}).password.own_words == (
        "Acme",
        "rocket sled",
    )


def test_a_length_with_a_second_factor_is_set_or_that_without() -> None:
    assert load({}).password.min_length_with_factor is None
    lengths = {"PORTCULLIS_PASSWORD__MIN_LENGTH": "15", "PORTCULLIS_PASSWORD__MIN_LENGTH_WITH_FACTOR": "8"}
    assert load(lengths).password.min_length_with_factor == 8


def test_the_decision_log_goes_nowhere_to_standard_output_or_to_a_file_in_an_existing_folder(
    tmp_path: Path,
) -> None:
    variable = "PORTCULLIS_POLICY__DECISION_LOG"
    path = tmp_path / "decisions.jsonl"

    assert load({}).policy.decision_log == "off"
    assert load({variable: "stdout"}).policy.decision_log == "stdout"
    assert load({variable: str(path)}).policy.decision_log == path
    assert "a / in it" in faults({variable: "sdtout"})["policy.decision_log"]
    assert "existing folder" in faults({variable: str(tmp_path / "none" / "log")})["policy.decision_log"]


@with_each("share", ["-0.1", "1.1", "some"])
def test_the_share_of_logged_allows_is_0_to_1(share: str) -> None:
    assert "policy.decision_log_allows" in faults({"PORTCULLIS_POLICY__DECISION_LOG_ALLOWS": share})


@with_each(
    ("line", "setting"),
    [
        ('max_devices = "3"', "auth.max_devices"),
        ("max_devices = true", "auth.max_devices"),
        ("max_devices = 3.0", "auth.max_devices"),
        ('concurrent_login = "true"', "auth.concurrent_login"),
        ("concurrent_login = 1", "auth.concurrent_login"),
        ("jwt_issuer = 7", "auth.jwt_issuer"),
        ("jwt_issuer = ['a']", "auth.jwt_issuer"),
        ("max_devices.low = 3", "auth.max_devices"),
    ],
)
def test_the_file_must_use_the_type_of_the_setting(tmp_path: Path, line: str, setting: str) -> None:
    assert list(faults({}, write(tmp_path, f"[auth]\n{line}\n"))) == [setting]


def test_a_number_without_bound_in_the_file_is_a_fault(tmp_path: Path) -> None:
    assert list(faults({}, write(tmp_path, f"[redis]\ntimeout = 1{'0' * 400}\n"))) == ["redis.timeout"]


def test_unknown_sections_and_names_in_the_file_are_faults_with_a_suggestion(tmp_path: Path) -> None:
    messages = faults({}, write(tmp_path, "port = 1\n[auht]\na = 1\n[auth]\nmax_device = 3\n[log]\n"))
    assert sorted(messages) == ["auht", "auth.max_device", "port"]
    assert "did you mean auth?" in messages["auht"]
    assert "did you mean max_devices?" in messages["auth.max_device"]


@with_each(
    "name",
    [
        "PORTCULLIS_AUTH__MAX_DEVICE",
        "PORTCULLIS_AUTH_MAX_DEVICES",
        "PORTCULLIS_auth__max_devices",
        "PORTCULLIS_PORT",
    ],
)
def test_an_unknown_variable_of_the_program_is_a_fault(name: str) -> None:
    assert list(faults({name: "8080"})) == [name]


def test_variables_that_are_no_settings_or_not_ours_are_left_alone() -> None:
    load(
        {
            "PORTCULLIS_ADMIN_PASSWORD": "x",
            "PORTCULLISX": "x",
            "PATH": "/bin",
            "PORTCULLIS_PORT": "tcp://10.0.0.1:8080",
            "PORTCULLIS_SERVICE_HOST": "10.0.0.1",
            "PORTCULLIS_PORT_8080_TCP_ADDR": "10.0.0.1",
        }
    )


def test_one_setting_given_by_both_its_names_must_be_the_same() -> None:
    load({"DATABASE_URL": "", "PORTCULLIS_DATABASE__URL": ""})
    given = {"OBJSTORE_REGION": "a", "PORTCULLIS_OBJSTORE__REGION": "b"}
    assert "twice" in faults(given)["objstore.region"]


def test_all_faults_are_reported_together_by_name(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        '[auth]\nmax_devices = 0\nnope = 1\n[redis]\nurl = "${UNSET}"\n[objstore]\naccess_key = "a"\n',
    )
    given = {
        "PORTCULLIS_SERVER__PORT": "x",
        "PORTCULLIS_WHAT": "x",
        "DATABASE_URL": "mysql://",
        "PORTCULLIS_PASSWORD__MIN_LENGTH": "100",
        "PORTCULLIS_PASSWORD__MAX_LENGTH": "64",
        "PORTCULLIS_AUTH__REFRESH_TIMEOUT": "60",
    }
    messages = faults(given, file)
    assert set(messages) == {
        "auth.max_devices",
        "auth.nope",
        "auth.jwt_secret",
        "auth.refresh_timeout",
        "redis.url",
        "server.port",
        "PORTCULLIS_WHAT",
        "database.url",
        "objstore.bucket",
        "objstore.secret_key",
        "password.max_length",
    }


def test_the_message_of_the_error_has_one_line_for_each_fault() -> None:
    with pytest.raises(SettingsError) as raised:
        load({"PORTCULLIS_SERVER__PORT": "x", "PORTCULLIS_WHAT": "x"})
    assert str(raised.value).splitlines() == [
        "2 settings are wrong:",
        "  PORTCULLIS_WHAT: is no setting's variable",
        "  server.port: must be a whole number, not 'x' (from PORTCULLIS_SERVER__PORT)",
    ]


def test_an_address_below_a_path_is_refused_with_what_the_service_needs() -> None:
    with pytest.raises(SettingsError, match=r"server\.public_url: .* needs a host of its own"):
        load({"PORTCULLIS_SERVER__PUBLIC_URL": "https://example.com/access"})


@with_each("value", ["true", "false"])
def test_a_setting_that_was_removed_says_what_to_do(tmp_path: Path, value: str) -> None:
    file = write(tmp_path, f"[policy]\nrequest_profile = {value}\n")
    with pytest.raises(SettingsError, match=r"request_profile: was removed .* delete this setting"):
        load({}, file=file)
    with pytest.raises(SettingsError, match=r"REQUEST_PROFILE: was removed .* delete this setting"):
        load({"PORTCULLIS_POLICY__REQUEST_PROFILE": value})


def test_the_variables_of_a_guarded_service_are_left_alone_and_their_misspellings_are_not() -> None:
    assert load({"PORTCULLIS_KEY": "pck_1_x", "PORTCULLIS_URL": "http://127.0.0.1:8080"}) == load({})
    with pytest.raises(SettingsError, match="PORTCULLIS_KEYS: is no setting's variable"):
        load({"PORTCULLIS_KEYS": "pck_1_x"})


@with_each("row", [row for row in table() if row.secret])
@with_each("text", ["hunter2", "hunter2\n", "http://u:hunter2@h:x"])
def test_no_message_and_no_repr_holds_a_secret(row: Row, text: str, tmp_path: Path) -> None:
    title, variables = row.title, row.variables
    section, name = title.split(".")
    file = write(
        tmp_path, f'[{section}]\n{name} = "${{HIDDEN}}"\n[server]\nport = "${{HIDDEN}}"\n[log]\nlevel = 1\n'
    )
    for environ, where in (
        ({variables[-1]: text, "PORTCULLIS_LOG__LEVEL": "x"}, None),
        ({"HIDDEN": text}, file),
        ({f"{variables[-1]}X": text}, None),
    ):
        with pytest.raises(SettingsError) as raised:
            load({"PORTCULLIS_CONFIG": "", **environ}, file=where)
        assert "hunter2" not in str(raised.value)
    assert "hunter2" not in repr(dataclasses.replace(Settings().auth, jwt_secret="hunter2"))


def test_the_repr_of_the_settings_holds_no_secret() -> None:
    given = {
        "DATABASE_URL": "postgresql://u:hunter2@h/d",
        "REDIS_URL": "redis://:hunter2@h",
        "JWT_SECRET": SECRET,
    }
    shown = repr(load(given))
    assert "hunter2" not in shown
    assert SECRET not in shown


def test_no_setting_is_without_help_and_each_title_is_used_once() -> None:
    rows = table()
    assert all(row.help.endswith(".") for row in rows)
    variables = [name for row in rows for name in row.variables]
    assert len(set(variables)) == len(variables)


def test_every_default_passes_its_own_check() -> None:
    assert [row.title for row in table() if row.check and row.check(row.derive({}))] == []
