"""The rules that join settings (which secret, key files, bucket), and the secret of a local installation."""

import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from service.keyspace.store import HAND_OUT
from service.settings import SettingsError, check_secret, load, local_secret
from tests.support.cases import with_each

DATABASE = {"DATABASE_URL": "postgresql://db/portcullis"}
STORE = {"REDIS_URL": "redis://store"}
JWT_IO = "a-string-secret-at-least-256-bits-long"
RFC_7515 = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"


def faults(environ: dict[str, str]) -> dict[str, str]:
    try:
        load({"PORTCULLIS_CONFIG": "", **environ})
    except SettingsError as error:
        return dict(error.faults)
    return {}


@pytest.mark.parametrize("external", [DATABASE, STORE, DATABASE | STORE])
def test_with_an_external_store_the_secret_is_required(external: dict[str, str]) -> None:
    assert "missing" in faults(external)["auth.jwt_secret"]
    assert "missing" in faults({**external, "JWT_SECRET": ""})["auth.jwt_secret"]
    assert faults({**external, "JWT_SECRET": secrets.token_urlsafe(48)}) == {}


def test_without_external_stores_the_secret_may_be_missing() -> None:
    assert faults({}) == {}


@with_each(
    ("bucket", "endpoint", "faulty"),
    [
        ("files", "http://[::1]:9000", ["objstore.addressing"]),
        ("files", "http://127.0.0.1:9000", ["objstore.addressing"]),
        ("team/files", "https://s3.example.com", ["objstore.bucket"]),
        ("files", "https://s3.example.com:9000", []),
        ("files", "", []),
    ],
)
def test_a_bucket_stands_only_before_a_name_of_a_host(bucket: str, endpoint: str, faulty: list[str]) -> None:
    given = {"OBJSTORE_BUCKET": bucket, "OBJSTORE_ENDPOINT": endpoint}
    assert list(faults({**given, "PORTCULLIS_OBJSTORE__ADDRESSING": "virtual"})) == faulty
    assert faults(given) == {}


@with_each(("window", "timeout", "good"), [(10, 1, True), (2, 1, False), (2, 0.5, True), (10, 9, False)])
def test_a_refresh_whose_worker_was_killed_can_be_repeated_within_the_window(
    window: int, timeout: float, good: bool
) -> None:
    given = {"AUTH__REFRESH_RACE_WINDOW": str(window), "REDIS__TIMEOUT": str(timeout)}
    complaints = faults({f"PORTCULLIS_{name}": text for name, text in given.items()})
    assert list(complaints) == ([] if good else ["auth.refresh_race_window"])
    assert all(f"more than {timeout + HAND_OUT:g} s" in complaint for complaint in complaints.values())


def test_a_second_factor_never_asks_for_a_longer_password() -> None:
    longer = {"PORTCULLIS_PASSWORD__MIN_LENGTH": "12", "PORTCULLIS_PASSWORD__MIN_LENGTH_WITH_FACTOR": "13"}
    assert list(faults(longer)) == ["password.min_length_with_factor"]
    assert faults(longer | {"PORTCULLIS_PASSWORD__MIN_LENGTH": "13"}) == {}


def test_a_weak_secret_is_refused_with_embedded_stores_as_well() -> None:
    assert "32 bytes" in faults({"JWT_SECRET": "secret"})["auth.jwt_secret"]


@pytest.mark.parametrize(("algorithm", "least"), [("HS256", 32), ("HS384", 48), ("HS512", 64)])
def test_the_secret_is_at_least_as_long_as_the_hash(algorithm: str, least: int) -> None:
    secret = secrets.token_urlsafe(64)
    assert check_secret(algorithm, secret[:least]) is None
    assert f"{least} bytes" in (check_secret(algorithm, secret[: least - 1]) or "")


@with_each(
    "secret",
    [
        "a" * 64,
        "changeme" * 8,
        "12345678" * 6,
        "secret" + "=" * 40,
        "changeme" + "0" * 40,
        "x" * 30 + "Password1",
        "0123456789abcdef0123456789abcdef",
        "your-256-bit-secret-your-256-bit-secret",
        "A-String-Secret-At-Least-256-Bits-Long!!!",
        JWT_IO,
        "a-valid-string-secret-that-is-at-least-512-bits-long-which-is-very-long".replace("which-", ""),
        "this_is_a_very_long_secret_key_please_change_me_in_production",
        "my super secret jwt signing key for development only",
        "change-this-in-production-0000000000000000",
        RFC_7515,
        "09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7",
        "09D25E094FAA6CA2556C818166B7A9563B93F7099F6F0F4CAA6CF63B88E8D3E7",
        "=" * 40,
        "é" * 40,
    ],
)
def test_a_secret_that_others_know_or_can_guess_is_refused(secret: str) -> None:
    complaint = check_secret("HS256", secret)
    assert complaint is not None
    assert secret not in complaint


@pytest.mark.parametrize("make", [secrets.token_hex, secrets.token_urlsafe])
def test_random_secrets_are_taken(make: object) -> None:
    for _ in range(200):
        assert check_secret("HS256", make(32)) is None  # type: ignore[operator]  # a function of secrets


def test_an_asymmetric_algorithm_needs_both_key_files_and_no_secret(tmp_path: Path) -> None:
    given = {**DATABASE, "PORTCULLIS_AUTH__JWT_ALGORITHM": "EdDSA"}
    assert set(faults(given)) == {"auth.jwt_private_key", "auth.jwt_public_key"}
    given["PORTCULLIS_AUTH__JWT_PRIVATE_KEY"] = str(tmp_path / "private.pem")
    given["PORTCULLIS_AUTH__JWT_PUBLIC_KEY"] = str(tmp_path / "public.pem")
    (tmp_path / "private.pem").touch()
    assert list(faults(given)) == ["auth.jwt_public_key"]
    (tmp_path / "public.pem").touch()
    assert faults(given) == {}


@with_each(
    ("given", "named"),
    [
        ({"OBJSTORE_ENDPOINT": "https://s3.example"}, {"objstore.bucket"}),
        ({"OBJSTORE_BUCKET": "b", "OBJSTORE_ACCESS_KEY": "a"}, {"objstore.secret_key"}),
        ({"OBJSTORE_BUCKET": "b", "OBJSTORE_SECRET_KEY": "a"}, {"objstore.access_key"}),
        ({"OBJSTORE_BUCKET": "b"}, set()),
        (
            {"OBJSTORE_BUCKET": "b", "PORTCULLIS_OBJSTORE__PRESIGNED_LINKS": "true"},
            {"objstore.presigned_links"},
        ),
    ],
)
def test_the_settings_of_the_object_store_belong_together(given: dict[str, str], named: set[str]) -> None:
    assert set(faults(given)) == named


def test_the_longest_life_of_a_public_link_is_no_shorter_than_the_usual_one() -> None:
    given = {"PORTCULLIS_UPLOAD__LINK_LIFE": "100", "PORTCULLIS_UPLOAD__LINK_MAX_LIFE": "99"}
    assert list(faults(given)) == ["upload.link_max_life"]


@with_each("types", ["", "image/png,image/jxl", "image", "image/png,"])
def test_only_known_media_types_can_be_taken(types: str) -> None:
    assert list(faults({"PORTCULLIS_UPLOAD__TYPES": types})) == ["upload.types"]


def test_a_refresh_token_lives_no_shorter_than_an_access_token() -> None:
    given = {"PORTCULLIS_AUTH__ACCESS_TIMEOUT": "100", "PORTCULLIS_AUTH__REFRESH_TIMEOUT": "99"}
    assert list(faults(given)) == ["auth.refresh_timeout"]


def test_cookie_mode_has_no_other_origins() -> None:
    origins = {"PORTCULLIS_SERVER__CORS_ORIGINS": "https://app.example"}
    assert faults(origins) == {}
    assert (
        "cookie mode" in faults({**origins, "PORTCULLIS_AUTH__IS_READ_COOKIE": "true"})["server.cors_origins"]
    )


def test_a_previous_key_has_an_end_and_is_a_good_one(tmp_path: Path) -> None:
    until = {"PORTCULLIS_AUTH__JWT_PREVIOUS_UNTIL": "2026-11-30T12:00:00Z"}
    previous = {"PORTCULLIS_AUTH__JWT_PREVIOUS_SECRET": secrets.token_urlsafe(48)}
    own = {"JWT_SECRET": secrets.token_urlsafe(48)}
    assert faults(own | previous | until) == {}
    assert "missing" in faults(own | previous)["auth.jwt_previous_until"]
    assert "missing" in faults(own | until)["auth.jwt_previous_secret"]
    weak = {"PORTCULLIS_AUTH__JWT_PREVIOUS_SECRET": "secret"}
    assert "32 bytes" in faults(own | weak | until)["auth.jwt_previous_secret"]
    same = {"PORTCULLIS_AUTH__JWT_PREVIOUS_SECRET": own["JWT_SECRET"]}
    assert "itself" in faults(own | same | until)["auth.jwt_previous_secret"]
    file = {"PORTCULLIS_AUTH__JWT_PREVIOUS_PRIVATE_KEY": str(tmp_path / "none.pem")}
    assert "no key of HS256" in faults(own | file)["auth.jwt_previous_private_key"]
    messages = faults({"PORTCULLIS_AUTH__JWT_ALGORITHM": "ES256", **file, **until})
    assert "not an existing file" in messages["auth.jwt_previous_private_key"]


@with_each("text", ["tomorrow", "2026-11-30", "2026-11-30T12:00:00", "1793000000"])
def test_the_end_of_a_key_is_a_time_with_its_offset(text: str) -> None:
    assert "offset" in faults({"PORTCULLIS_AUTH__JWT_PREVIOUS_UNTIL": text})["auth.jwt_previous_until"]


@pytest.mark.parametrize("algorithm", ["HS256", "HS512"])
def test_assertions_need_a_key_that_services_can_be_given(algorithm: str) -> None:
    chosen = {"PORTCULLIS_AUTH__FORWARD_ASSERTION": "true", "PORTCULLIS_AUTH__JWT_ALGORITHM": algorithm}
    assert "RS, ES or EdDSA" in faults(chosen)["auth.forward_assertion"]
    assert "auth.forward_assertion" not in faults({**chosen, "PORTCULLIS_AUTH__JWT_ALGORITHM": "ES256"})


def test_the_local_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    secret = local_secret(folder, 32)
    assert local_secret(folder, 64) == secret
    assert check_secret("HS512", secret) is None
    assert (folder / "jwt_secret").stat().st_mode & 0o777 == 0o600
    assert os.listdir(folder) == ["jwt_secret"]  # noqa: PTH208 - hidden files count


def test_two_installations_have_different_secrets(tmp_path: Path) -> None:
    assert local_secret(tmp_path / "a", 32) != local_secret(tmp_path / "b", 32)


def test_processes_that_start_at_once_agree_on_one_secret(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(lambda _: local_secret(tmp_path, 32), range(64)))) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_secret_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    local_secret(tmp_path, 32)
    (tmp_path / "jwt_secret").chmod(mode)
    with pytest.raises(SettingsError, match="open to other users"):
        local_secret(tmp_path, 32)


def test_a_secret_that_is_too_short_is_refused_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "jwt_secret").write_text("hunter2\n")
    (tmp_path / "jwt_secret").chmod(0o600)
    with pytest.raises(SettingsError, match="shorter than 32 bytes") as raised:
        local_secret(tmp_path, 32)
    assert "hunter2" not in str(raised.value)


def test_a_link_a_folder_and_a_pipe_in_its_place_are_refused(tmp_path: Path) -> None:
    local_secret(tmp_path / "real", 32)
    places = [tmp_path / name for name in ("link", "folder", "pipe")]
    for place in places:
        place.mkdir()
    (places[0] / "jwt_secret").symlink_to(tmp_path / "real" / "jwt_secret")
    (places[1] / "jwt_secret").mkdir(mode=0o700)
    os.mkfifo(places[2] / "jwt_secret", 0o600)
    for place in places:
        with pytest.raises(SettingsError, match=r"auth\.jwt_secret"):
            local_secret(place, 32)
