"""Which objects may be stored whose members nobody has declared."""

from datetime import date
from typing import Any

from service.kernel.value_rules import MOST_BYTES, MOST_KEYS, MOST_LEVELS, free_object_fault
from tests.support.cases import with_each


def nested(levels: int) -> dict[str, Any]:
    return {"a": nested(levels - 1)} if levels > 1 else {}


WIDE = {"a": "x" * (MOST_BYTES - 8)}
KEYED = {f"k{number}": number for number in range(MOST_KEYS)}


@with_each(
    "value",
    [
        {},
        {"layout": "wide", "tabs": [1, 2.5, -3, True, None], "of-x": {"y.z_1": "two\nlines"}},
        {"least": 1e-9, "most": 2**53 - 1, "below": -(2**53 - 1)},
        nested(MOST_LEVELS),
        WIDE,
        KEYED,
    ],
)
def test_small_objects_with_names_as_keys_are_taken(value: dict[str, Any]) -> None:
    assert free_object_fault(value) is None


@with_each(
    ("value", "part"),
    [
        (nested(MOST_LEVELS + 1), "levels"),
        ({"a": [[[[]]]]}, "levels"),
        ({"a": WIDE["a"] + "x"}, "bytes"),
        ({"a": "\u00e4" * (MOST_BYTES // 2)}, "bytes"),
        ({"a": [0] * MOST_BYTES}, "bytes"),
        ({"a": [KEYED | {"more": 1}]}, "keys"),
        ({"": 1}, "keys"),
        ({"__proto__": {}}, "keys"),
        ({"a": [{"constructor": 1}]}, "keys"),
        ({"prototype": 1}, "keys"),
        ({"a b": 1}, "keys"),
        ({"a": {1: 2}}, "keys"),
        ({"k" * 65: 1}, "keys"),
        ({"a": 2**53}, "numbers"),
        ({"a": 1e300}, "numbers"),
        ({"a": 1e-300}, "numbers"),
        ({"a": float("inf")}, "numbers"),
        ({"a": float("nan")}, "numbers"),
        ({"a": "\0"}, "U+0000"),
        ({"a": ["left\u202eright"]}, "U+202E"),
        ({"a": "\ud800"}, "U+D800"),
        ({"a": date(2026, 11, 23)}, "only"),
    ],
)
def test_what_is_too_large_or_means_something_else_is_refused(value: dict[str, Any], part: str) -> None:
    fault = free_object_fault(value)
    assert fault is not None
    assert fault.startswith("must ")
    assert part in fault
