import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from service.audit import redaction
from service.audit.redaction import (
    MOST,
    MOST_QUERY,
    REDACTED,
    is_sensitive,
    kept_changes,
    redacted_query,
    redacted_text,
)
from service.kernel.origin import FieldChange
from tests.support.cases import with_each

CANARY = "canary-7f3b"


def kept(document: bytes, *, redact: bool) -> Any:
    """Return what is kept of a document, read again."""
    return msgspec.json.decode(redaction.kept(document, redact=redact))


SENSITIVE = (
    "password",
    "newPassword",
    "PASSWORD_HASH",
    "x-csrf-token",
    "Set-Cookie",
    "apiKey",
    "client_secret",
)

PLAIN = (
    st.text(max_size=20)
    | st.integers()
    | st.booleans()
    | st.none()
    | st.floats(allow_nan=False, allow_infinity=False)
)
NAMES = st.text(max_size=8)


def values(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda below: st.lists(below, max_size=4) | st.dictionaries(NAMES, below, max_size=4),
        max_leaves=12,
    )


@with_each(
    "name",
    [
        *SENSITIVE,
        "current_password",
        "Passwd",
        "PASS-WORD",
        "\uff50assword",
        "pa\u017f\u017fword",
        "refreshToken",
        "ACCESS_TOKEN",
        "Authorization",
        "cookies",
        "XSRF",
        "userCredentials",
        "key_hash",
        "Key-Hash",
        "privateKey",
        "otp",
        "rid",
    ],
)
def test_a_name_is_sensitive_in_every_spelling(name: str) -> None:
    assert is_sensitive(name)


@with_each(
    "name",
    ["userName", "author", "authMark", "permissions", "key", "roleCode", "compass", "shipping", "id", ""],
)
def test_other_names_are_not(name: str) -> None:
    assert not is_sensitive(name)


def below(value: Any, secret: Any, name: str) -> Any:
    return {"list": [value, {"deep": [{name: secret}]}], name: secret}


@given(values(PLAIN), values(st.just(CANARY)), st.sampled_from(SENSITIVE))
def test_what_stands_below_a_sensitive_name_is_withheld_at_any_depth(
    value: Any, secret: Any, name: str
) -> None:
    document = json.dumps(below(value, {"x": [CANARY, secret]}, name)).encode()
    assert CANARY not in json.dumps(kept(document, redact=True))


@given(values(PLAIN), st.sampled_from([1, 100, 5000]), st.booleans())
def test_whatever_is_kept_fits_and_is_json(value: Any, times: int, redact: bool) -> None:
    document = msgspec.json.encode([value] * times)
    assert len(msgspec.json.encode(kept(document, redact=redact))) <= MOST


@given(values(st.text(alphabet='ab \u20ac\x1b"\\', max_size=20) | st.integers()))
def test_what_is_short_and_says_nothing_secret_is_kept_as_it_is(value: Any) -> None:
    document = msgspec.json.encode(value)
    if len(document) <= MOST:
        assert kept(document, redact=False) == value


@with_each(
    "value",
    [
        ["x" * 1_000_000],
        list(range(1_000_000)),
        {f"member{number}": "x" * 200 for number in range(1000)},
        {"\x1b" * 100_000: "\x1b" * 100_000},
        [[[[["\U0001f3f0" * 250] * 50] * 50]]],
    ],
)
def test_what_is_too_long_is_cut_with_a_mark(value: Any) -> None:
    encoded = msgspec.json.encode(kept(msgspec.json.encode(value), redact=False))
    assert len(encoded) <= MOST
    assert "\u2026" in encoded.decode()


def test_nesting_without_end_is_cut_with_a_mark() -> None:
    shortened = kept(b"[" * 200 + b"]" * 200, redact=True)
    assert "\u2026" in json.dumps(shortened, ensure_ascii=False)


def test_a_query_loses_the_values_of_sensitive_names_and_nothing_else() -> None:
    query = "userName=ann%20b\x7f&Pass%57ord=canary&x_token=&token&page=2&a=b=c"
    assert redacted_query(query) == (
        f"userName=ann%20b\\x7f&Pass%57ord={REDACTED}&x_token={REDACTED}&token&page=2&a=b=c"
    )


@given(st.lists(st.tuples(st.sampled_from(SENSITIVE), st.just(CANARY)), min_size=1).map(dict))
def test_no_sensitive_parameter_of_a_query_is_kept(parameters: dict[str, str]) -> None:
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    assert CANARY not in redacted_query(query)


def test_a_long_query_is_cut() -> None:
    assert len(redacted_query("a=" + "x" * 100_000)) == MOST_QUERY


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"


@with_each(
    ("text", "shown"),
    [
        (f"x {JWT} y", f"x {REDACTED} y"),
        (JWT.split(".", maxsplit=1)[0], REDACTED),
        ("Bearer abc", REDACTED),
        ("a basic YWRtaW46eA== b", f"a {REDACTED} b"),
        ("password=hunter2; q=1", f"password={REDACTED}; q=1"),
        ('{"newPassword": "hunter2 and more"}', f'{{"newPassword": {REDACTED}}}'),
        ("curl/8 (csrf: 4bC)", f"curl/8 (csrf: {REDACTED})"),
        ("kq2Zb0uXw8sLr4TtYy7Xc1", REDACTED),
        ("\x1b[31mred\r\nnext\x00\x9b", "\\x1b[31mred\\r\\nnext\\x00\\x9b"),
    ],
)
def test_a_text_of_a_client_is_one_line_without_what_looks_like_a_secret(text: str, shown: str) -> None:
    assert redacted_text(text) == shown


AGENTS = """\
Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0
Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) Version/17.4 Mobile/15E148 Safari/604.1
Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Edg/120.0.0.0
Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/UQ1A.240205.004; wv) MicroMessenger/8.0.47.2560(0x28002F36)
Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)
AdsBot-Google-Mobile-Apps
python-httpx/0.28.1""".splitlines()


@with_each("agent", AGENTS)
def test_the_user_agents_of_common_programs_are_kept_whole(agent: str) -> None:
    assert redacted_text(agent) == agent


@given(st.text(max_size=600))
def test_any_text_becomes_one_line_that_can_be_stored(text: str) -> None:
    shown = redacted_text(text)
    shown.encode()
    assert len(shown.splitlines()) <= 1
    assert "\0" not in shown


@with_each("redact", [True, False])
@with_each(
    ("text", "shown"),
    [
        (f"/api/public/file/{CANARY}", "/api/public/file/[redacted]"),
        (
            f"see https://x.example/api/public/file/{CANARY}?a#b",
            "see https://x.example/api/public/file/[redacted]?a#b",
        ),
        ("GET /api/public/file/{token}", "GET /api/public/file/{token}"),
    ],
)
def test_the_secret_of_a_public_link_is_withheld_in_any_text(text: str, shown: str, redact: bool) -> None:
    document = json.dumps({"path": text, "more": [text]}).encode()
    assert kept(document, redact=redact) == {"path": shown, "more": [shown]}


def test_the_secret_of_a_public_link_is_withheld_in_changes() -> None:
    change = FieldChange("role:x", "description", f"/api/public/file/{CANARY}", None)
    assert CANARY.encode() not in bytes(kept_changes([change]))
