"""Texts that look like JSON: what is none is a bad request, whatever type it would have had."""

import pytest
from hypothesis import example as also
from hypothesis import given
from hypothesis import strategies as st

from service.kernel.strict_json import DuplicateMember, is_strict, strict_json
from service.web.messages.bodies import MAX_BODY, MAX_PUBLIC_BODY
from tests.web.driver import JSON, ask
from tests.web.example_service import example

APP, _ = example()

# One text a line, the classes of RFC 8259 in its order: structure, white space, values, objects, arrays,
# numbers, strings. Each stands alone, and as a member of an object that no type takes.
_LINES = rb"""
[1,]
[,1]
[1,,2]
[1 2]
[1:2]
[1
[1}
[
]
[[]
[]]
[][]
[1]x
[1]#
[1]//
[1]/**/
[/**/1]
{
}
{"a"
{"a":
{"a":1
{"a":1,
{"a":1,}
{"a":1,,"b":2}
{,"a":1}
{"a" 1}
{"a" "b"}
{"a"::1}
{"a",1}
{a:1}
{'a':1}
{1:1}
{null:1}
{[]:1}
{"a":1}}
{"a":1}{"b":2}
['a']
[True]
[TRUE]
[nul]
[truee]
[undefined]
[NaN]
[nan]
[-NaN]
[Infinity]
[-Infinity]
[+1]
[01]
[-01]
[1.]
[.1]
[-.1]
[-]
[--1]
[1e]
[1e+]
[1E-]
[1.e1]
[1.5.5]
[0x1F]
[1_000]
[1 000]
[1,000.]
[1/2]
["]
["a]
["\]
["\x41"]
["\a"]
["\'"]
["\0"]
["\u12"]
["\u12G4"]
["\U00000041"]
["\u{41}"]
["\ud800"]
["\udc00"]
["\ud800\ud800"]
["\uDC00\uD800"]
["\ud800x"]
{"\ud800":1}
"""
MALFORMED = [
    *_LINES.strip().split(b"\n"),
    b" ",
    b"userName=alice",
    b"\x0c[]",
    b"[\x0b]",
    b"[]\x00",
    b"\xc2\xa0[]",
    b"[\xe2\x81\xa0]",
    b"\xef\xbb\xbf[]",
    b'["a\nb"]',
    b'["a\tb"]',
    b'["\x00"]',
    b'["\x1f"]',
    b'["\x80"]',
    b'["\xff"]',
    b'["\xc0\xaf"]',
    b'["\xe0\x80\xaf"]',
    b'["\xed\xa0\x80"]',
    b'["\xf4\xbf\xbf\xbf"]',
    b'["\xe2\x82"]',
    b'{"\xff":1}',
    b"[\xef\xbc\x91]",  # a full-width digit
    "[1]".encode("utf-16"),
    "[1]".encode("utf-16-le"),
    "[1]".encode("utf-32"),
    b"[" * 100_000,
    b'[{"":' * 50_000,
    b"[" * 10_000 + b"]" * 10_000,
    b'{"a":1,"a":2}',
    b'[{"a":1,"\\u0061":1}]',
]

WELL_FORMED = [
    b"[]",
    b" [ ] \r\n\t",
    b"null",
    b"true",
    b'""',
    b"-0",
    b"[1e400]",
    b"[1E+2,1e-2,0.1,-0.0,1e0]",
    b"[" + b"9" * 5000 + b"]",
    b'["\\ud83d\\ude00","\\u0000","\\/","\x7f","\xf4\x8f\xbf\xbf","\\uFFFF"]',
    b'["\\\\ud800"]',
    b"[" * 500 + b"]" * 500,
    b'[{"a":1},{"a":1}]',
    b'{"":{"":{"":0}}}',
]


async def answered_otherwise(texts: list[bytes], status: int, code: str) -> list[tuple[bytes, int, str]]:
    """Send each text alone and within an object; return the beginnings of those answered otherwise."""
    deviations = []
    for body in [body for text in texts for body in (text, b'{"surplus":' + text + b"}")]:
        answer = await ask(APP, "POST", "/api/thing", JSON, body=body)
        if (answer.status, answer.code) != (status, code):
            deviations.append((body[:60], answer.status, answer.code))
    return deviations


async def test_what_is_no_json_text_is_a_bad_request_whatever_its_type() -> None:
    assert len(MALFORMED) > 100
    assert await answered_otherwise(MALFORMED, 400, "bad_request") == []


async def test_a_json_text_of_another_type_breaks_a_rule() -> None:
    assert await answered_otherwise(WELL_FORMED, 422, "validation_failed") == []


def test_a_duplicate_is_told_from_what_is_no_json() -> None:
    with pytest.raises(DuplicateMember):
        strict_json(b'{"a":1,"a":1}')
    with pytest.raises(ValueError, match="nested too deep"):
        strict_json(b"[" * 10_000)


def is_read(text: bytes) -> bool:
    try:
        strict_json(text, numbers_as_text=True)
    except ValueError:
        return False
    return True


PIECES = [
    *(b'"', b'"a"', b'"a":', b'"b"', b'"b" :', b"{", b"}", b"{}", b"[", b"]", b",", b":", b"0", b"1", b"-"),
    *(
        b".",
        b"e",
        b"+",
        b" ",
        b"\n",
        b"\t",
        b"true",
        b"null",
        b"NaN",
        b"\\",
        b'\\"',
        b"\\u0061",
        b"\x00",
        b"\xff",
    ),
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
@also(b'{"a" :1,"a":2}')
@also(b'{"a":{"b":1},"a":"b"}')
@also(b'[{"a":1,"b":[]},{"a":1}]')
@also(b'{"a":1,"a":"\\u0022\\u0022"}')
def test_the_fast_check_passes_no_text_that_the_full_one_refuses(text: bytes) -> None:
    assert not is_strict(text) or is_read(text)


def test_the_fast_check_passes_usual_texts_alone() -> None:
    assert not any(map(is_strict, MALFORMED))
    assert [text for text in WELL_FORMED if is_strict(text)] == [
        *(
            text
            for text in WELL_FORMED
            if b"\\" not in text and b"9" * 5000 not in text and b"400" not in text
        )
    ]


def test_numbers_can_be_kept_as_they_are_written() -> None:
    assert strict_json(b"[1e400,7]", numbers_as_text=True) == ["1e400", "7"]
    assert strict_json(b"[1.5,7]") == [1.5, 7]


@pytest.mark.parametrize(
    ("method", "path", "text", "most"),
    [
        ("POST", "/api/thing", b'{"userName":"alice"}', MAX_BODY),
        ("PUT", "/api/open", b"{}", MAX_PUBLIC_BODY),
    ],
)
async def test_a_public_operation_reads_shorter_bodies_than_others(
    method: str, path: str, text: bytes, most: int
) -> None:
    assert (await ask(APP, method, path, JSON, body=text.ljust(most))).status < 300
    assert (await ask(APP, method, path, JSON, body=text.ljust(most + 1))).code == "too_large"
