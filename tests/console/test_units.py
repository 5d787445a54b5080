"""Parts of the console that compute or draw by themselves: all are tried in one evaluation in a page."""

import base64
import io
import random
from datetime import datetime
from itertools import product
from typing import Any, Final

import openpyxl

from service.features.tables.resource_import import operations_of
from service.kernel.codes import HeldCodes
from service.kernel.services import Service
from tests.console.acts import UNSAFE
from tests.console.visits import Visit, script

CODES: Final = ("*", "a", "a:*", "a:b", "a:b:*", "a:*:c", "a:b:c", "a:b:d", "*:b", "*:b:c", "a:*:c:*", "b:b")
ODD: Final = ["", ":", "a:", "*:", "@login", "@nobody", "a::b", "*", "a:*:b", "*:*", "a:*"]
ITEM: Final[dict[str, Any]] = {
    "get": {},
    "post": {"summary": " Make\tone \n"},
    "options": {},
    "trace": {},
    "x-own": {},
}
DOCUMENTS: Final[list[dict[str, Any]]] = [
    {
        "openapi": "3.1.0",
        "servers": [{"url": "https://orders.example/v1/"}],
        "paths": {
            "/orders": {"get": {"summary": "List orders"}, "post": {"operationId": "createOrder"}},
            "/orders/{order-id}": {"get": {}, "head": {}},
            "/files/{name}.json": {"get": {"summary": UNSAFE}},
            "/known": {"get": {"summary": "Known"}},
        },
    },
    {"swagger": "2.0", "basePath": "/base/", "paths": {"/a/{b}/": ITEM, "/a/{c}/": ITEM, "/": ITEM}},
    {
        "openapi": "3.0.0",
        "paths": dict.fromkeys(("/a b", "/ä", "/x{y}", "/{1-a}", "/a//b", f"/{'long' * 40}", "/.."), ITEM),
    },
    {"openapi": "3.0.0", "servers": [{"url": "/v2"}], "paths": {"/s": ITEM | {"servers": [{"url": "/v3"}]}}},
    {"openapi": "3.0.0", "paths": {"/a/~b.c_d": ITEM}},
]
DRAWN: Final = {
    # A row that is the same keeps focus and selection, and a changed one is new.
    "keyedRows": ["dbca", "typed", 1, 3, True, True, False],
    # A reader who is faster than a menu, or whose place in the page moves, keeps the focus.
    "hastyReader": [True, True, True, True],
    # A search in a tree shows its first rows, those above them too, and says so.
    "searchedTree": [[300, "There are more results: only the first 300 rows are shown."], [12, ""], [0, ""]],
    # A choice of many shows the first and the chosen ones; what a search finds stays chosen after it.
    "longChoice": [
        [101, 1, [250], "300 matches. Keep typing to narrow them down."],
        [11, 0, [250], True],
        [0, 0, [250, 299], "None"],
        [103, 3, [250, 299, 300], "301 matches. Keep typing to narrow them down."],
        [100, 1, [1], "301 matches. Keep typing to narrow them down."],
        1,
    ],
    # What a role gains is listed when it is unfolded, and cut.
    "listedGains": [True, [[0, None], [0, None]], [[200, "and 800 more"], [0, "and 7 more"]]],
    # A list keeps to the view that it was made for.
    # The separator of a table is that of its first line, outside of quotes.
    "readTables": [
        [["a", "b"], ["1;2", "3"]],
        [["a", "b"], ["1,2", "3"]],
        [["a,;;", "b"], ["1;2", "3"]],
        [["a", "b"], ["1", "2"]],
        [["a"], ["1;2"]],
    ],
    "lateList": ["of-its-own-view", "#/users?userName=of-another-view"],
}
"""What the functions of ``scripts/units.js`` return."""


def granted(held: list[str], code: str) -> bool:
    """Return what the service decides."""
    codes = HeldCodes(held)
    ways = (codes.holds_exactly, codes.holds_everything, codes.holds_subtree, codes.holds_pattern)
    return any(holds(code) for holds in ways)


def held_codes() -> list[tuple[list[str], str]]:
    """Return thousands of lists of held codes with another code, wildcards and odd ones among them."""
    chance = random.Random(7)

    def some_code() -> str:
        segments = chance.choices(["a", "b", "*", "a*", ""], [4, 4, 3, 1, 0.3], k=chance.randint(1, 4))
        return chance.choice(ODD) if chance.random() < 0.2 else ":".join(segments)

    return [([some_code() for _ in range(chance.randint(0, 3))], some_code()) for _ in range(5000)]


def test_parts_of_the_console_do_what_the_service_does_and_draw_what_they_should(visit: Visit) -> None:
    pairs, cases = list(product(CODES, repeat=2)), held_codes()
    expected = [granted(*case) for case in cases]
    assert 500 < sum(expected) < 4500
    read = [operations_of(document, Service("orders")) for document in DOCUMENTS]
    visit.sign_in(address="/users?userName=of-its-own-view")
    given = {"pairs": pairs, "cases": cases, "documents": DOCUMENTS}
    results = visit.page.evaluate(script("units", "units(given)"), given)

    assert results.pop("coveredCodes") == [granted([held], code) for held, code in pairs]
    grants = zip(cases, results.pop("grantedCodes"), expected, strict=True)
    assert [case for case, is_granted, was in grants if is_granted != was] == []
    (sheet,) = openpyxl.load_workbook(io.BytesIO(base64.b64decode(results.pop("madeWorkbook")))).worksheets
    assert (sheet.title, sheet.freeze_panes) == ("a b", "A2")
    first, second, third = [[cell.value for cell in line] for line in sheet.iter_rows()]
    at = datetime(2026, 11, 30, 17, 0, 0, 123_000)  # noqa: DTZ001 - the cells of a workbook have no zone
    assert first == ["A", "B", "C (UTC)", "D"]
    assert second == ["=1+1", "00123", at, "\u9dfa \u0628 \U0001fab6"]
    assert [cell.data_type for cell in sheet[2]] == ["s", "s", "d", "s"]
    assert third[0] == '_x005F_x0041_ <&"_x0001_'  # as the file has it: openpyxl resolves no escapes
    assert (len(str(third[3])), str(third[3])[-2:]) == (32_767, " …")
    assert results.pop("spacedSentences") == [
        "admin 为用户 lee 授予了角色 a 和 b",
        "为王芳授予了角色审计\uff0c并更改了 x 王",
    ]
    assert results.pop("readDocuments") == [
        [
            [[each.method, each.path, each.name, each.code] for each in result.imported],
            [entry.operation for entry in result.unusable],
        ]
        for result in read
    ]
    assert results == DRAWN
