"""Workbooks that are read: what their cells mean, and what a stranger may put into such a file."""

import io
import re
import zipfile

import pytest

from service.errors import BadRequest
from service.features.tables import workbook_reading as reading
from service.features.tables.csv_tables import Unreadable
from service.features.tables.workbook_reading import lines_of
from tests.features.tables.books import MAIN, OFFICE, RELATIONS, packed, parts_of, rows_of, sheet
from tests.features.tables.tables import KINDS, faults, send
from tests.support.cases import with_each
from tests.support.inside import Inside

IMPORT = "/api/role/import?dryRun=true"
XLSX = KINDS["xlsx"]
LAUGHS = '<!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


def refusal(body: bytes) -> str:
    with pytest.raises(BadRequest) as refused:
        lines_of(body)
    return str(refused.value)


@with_each(
    ("cell", "text"),
    [
        ('<c t="inlineStr"><is><t>00123</t></is></c>', "00123"),
        ('<c t="inlineStr"><is><t>=cmd|x</t></is></c>', "=cmd|x"),
        ('<c t="inlineStr"><is><t>_x0041__x000D_ &lt;</t></is></c>', "A\r <"),
        ('<c t="inlineStr"><is><t>_xD83E__xDDA6_</t></is></c>', "\U0001f9a6"),
        ('<c t="s"><v>0</v></c>', "shared"),
        ('<c t="s"><v>1</v></c>', "rich"),
        ('<c t="str"><v>text</v></c>', "text"),
        ('<c t="b"><v>1</v></c>', "true"),
        ('<c t="b"><v>0</v></c>', "false"),
        ("<c><v>28800</v></c>", "28800"),
        ("<c><v>-5.0</v></c>", "-5"),
        ("<c><v>1.1000000000000001</v></c>", reading._ROUNDED),
        ("<c><v>1.25</v></c>", "1.25"),
        ("<c><v>0.1</v></c>", "0.1"),
        ('<c s="3"><v>5</v></c>', "5"),
        ("<c><v>4930123456789012</v></c>", reading._ROUNDED),
        ("<c><v>1.2345E+19</v></c>", reading._ROUNDED),
        ("<c><v>NaN</v></c>", reading._ROUNDED),
        ('<c s="1"><v>45000</v></c>', reading._DATE),
        ('<c s="2"><v>0.5</v></c>', reading._DATE),
        ('<c t="d"><v>2026-11-30</v></c>', reading._DATE),
        ("<c><f>1+1</f><v>2</v></c>", reading._FORMULA),
        ('<c t="str"><f>WEBSERVICE("http://x")</f><v>hi</v></c>', reading._FORMULA),
        ('<c t="e"><v>#REF!</v></c>', reading._ERROR),
        ('<c r="C1" t="str"><v>far</v></c>', ["", "", "far"]),
        ("<c/>", None),
    ],
)
def test_a_cell_is_a_text_or_a_fault(cell: str, text: str | Unreadable | list[str] | None) -> None:
    lines = lines_of(packed(parts_of(f"<row>{cell}</row>")))
    expected = text if isinstance(text, list) else [text]
    assert lines == ([] if text is None else [expected])


def test_a_strict_workbook_with_prefixes_and_empty_lines_is_read() -> None:
    strict = "http://purl.oclc.org/ooxml/spreadsheetml/main"
    cell = '<x:c r="B3" t="inlineStr"><x:is><x:t>a</x:t></x:is></x:c>'
    rows = f'<x:sheetData><x:row r="3">{cell}</x:row></x:sheetData>'
    text = f'<x:worksheet xmlns:x="{strict}">{rows}</x:worksheet>'
    parts = parts_of("") | {"xl/worksheets/sheet1.xml": text}
    assert lines_of(packed(parts)) == [[], [], ["", "a"]]


def test_a_hidden_sheet_is_not_read_and_two_visible_ones_are_refused() -> None:
    parts = parts_of(rows_of(("a",))) | {"xl/worksheets/sheet2.xml": sheet(rows_of(("b",)))}
    several = "2 sheets of the workbook have cells: keep the one to import"
    assert refusal(packed(parts)) == several
    nameless = re.sub(r'(<sheet [^>]*?)name="[^"]*"', r'\1name=""', parts["xl/workbook.xml"])
    assert nameless != parts["xl/workbook.xml"]
    assert refusal(packed(parts | {"xl/workbook.xml": nameless})) == several
    parts["xl/workbook.xml"] = parts["xl/workbook.xml"].replace('sheetId="2"', 'sheetId="2" state="hidden"')
    assert lines_of(packed(parts)) == [["a"]]


@with_each("part", ["xl/workbook.xml", "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml", "_rels/.rels"])
@with_each("document_type", [LAUGHS, OUTSIDE, '<!DOCTYPE x SYSTEM "http://127.0.0.1/x.dtd">'])
def test_a_document_type_is_refused_in_every_part(part: str, document_type: str) -> None:
    parts = parts_of(rows_of(("&b;",)))
    parts[part] = document_type + parts[part]
    assert "document type" in refusal(packed(parts))


def test_an_archive_that_unpacks_to_more_is_refused_before_it_is_unpacked() -> None:
    large = sheet(" " * (reading.MOST_UNPACKED + 1))
    body = packed(parts_of("") | {"xl/worksheets/sheet1.xml": large})
    assert len(body) < 50_000
    assert "16 MiB" in refusal(body)


def test_a_part_that_states_another_size_is_refused() -> None:
    body = bytearray(packed(parts_of(rows_of(("a" * 1000,)))))
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        size = archive.getinfo("xl/worksheets/sheet1.xml").file_size
    false = bytes(body).replace(size.to_bytes(4, "little"), (size - 900).to_bytes(4, "little"))
    assert "damaged" in refusal(false)


@with_each("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_part_packed_by_another_method_is_refused_before_it_is_unpacked(method: int) -> None:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", method) as archive:
        for path, text in parts_of(rows_of(("a",))).items():
            archive.writestr(path, text)
    assert "damaged" in refusal(body.getvalue())


@with_each("encoding", ["unheard-of", "hex"])
def test_a_part_in_an_unknown_encoding_is_refused(encoding: str) -> None:
    parts = parts_of(rows_of(("a",)))
    parts["xl/workbook.xml"] = f'<?xml version="1.0" encoding="{encoding}"?><workbook/>'
    assert "not well-formed" in refusal(packed(parts))


@with_each(
    ("rows", "reason"),
    [
        ('<row r="1048576"><c t="str"><v>x</v></c></row>', "beyond line 20,000"),
        ('<row r="1"><c r="XFD1" t="str"><v>x</v></c></row>', "256 columns"),
        ('<row r="2"/><row r="1"/>', "not in order"),
        ('<row><c r="B1"/><c r="A1"/></row>', "not in order"),
        ("<c/>", "in no line"),
        ('<row><c t="s"><v>99</v></c></row>', "a text is missing"),
        ('<row><c t="s"><v>-1</v></c></row>', "a text is missing"),
        ("<row><c></row>", "not well-formed"),
        ("<row>" + "<c/>" * (reading.MOST_CELLS + 1) + "</row>", "too many cells"),
        ("<x/>" * reading.MOST_ELEMENTS, "too large"),
    ],
)
def test_a_sheet_beyond_the_limits_is_refused(rows: str, reason: str) -> None:
    assert reason in refusal(packed(parts_of(rows)))


@with_each(
    ("more", "reason"),
    [
        ({"xl/vbaProject.bin": "x"}, "macros"),
        ({"XL/Workbook.xml": "x"}, "twice"),
        ({f"xl/media/{n}.png": "x" for n in range(reading.MOST_PARTS)}, "200 parts"),
        ({"_rels/.rels": "<x/>"}, "no XLSX workbook"),
        ({"xl/workbook.xml": "<workbook>" + "<sheet/>" * 21 + "</workbook>"}, "20 sheets"),
        ({"xl/workbook.xml": "no XML"}, "not well-formed"),
    ],
)
def test_an_archive_that_is_no_plain_workbook_is_refused(more: dict[str, str], reason: str) -> None:
    assert reason in refusal(packed(parts_of(rows_of(("a",))) | more))


@with_each(
    ("body", "reason"),
    [
        (b"", "no XLSX workbook"),
        (b"userName,nickName\r\n", "no XLSX workbook"),
        (b"\xd0\xcf\x11\xe0 old", "password"),
        (b"PK\x03\x04 cut", "damaged"),
        (packed(parts_of(""))[:-40], "damaged"),
        (packed({"a.txt": "x"}), "no XLSX workbook"),
    ],
)
def test_a_file_of_another_kind_is_refused(body: bytes, reason: str) -> None:
    assert reason in refusal(body)


def test_what_is_outside_the_archive_is_not_opened() -> None:
    outside = (
        f'<Relationships xmlns="{RELATIONS}"><Relationship Id="rId1" Type="{OFFICE}/worksheet" '
        'Target="file:///etc/passwd" TargetMode="External"/><Relationship Id="rId2" '
        f'Type="{OFFICE}/worksheet" Target="../../../etc/passwd"/></Relationships>'
    )
    parts = parts_of(rows_of(("a",))) | {"xl/_rels/workbook.xml.rels": outside}
    assert refusal(packed(parts)) == "The workbook is damaged: a part is missing"
    parts["xl/_rels/workbook.xml.rels"] = outside.replace('"../../../etc/passwd"', '"worksheets/sheet1.xml"')
    parts["xl/externalLinks/externalLink1.xml"] = f'<externalLink xmlns="{MAIN}"/>'
    assert lines_of(packed(parts)) == [["a"]]


async def test_faults_name_the_lines_of_the_sheet_wherever_its_head_is(shared: Inside) -> None:
    rows = (
        '<row r="2"><c t="str"><v> ROLECODE </v></c><c t="str"><v>roleName</v></c>'
        '<c t="str"><v>enabled</v></c></row>'
        '<row r="4"><c t="str"><v>clerk</v></c><c><f>A1</f><v>x</v></c></row>'
        '<row r="5"><c t="str"><v>guard</v></c><c t="str"><v>Guard</v></c><c t="b"><v>1</v></c></row>'
        '<row r="6"><c t="str"><v>cook</v></c><c t="str"><v>Cook</v></c><c t="str"><v>x</v></c></row>'
    )
    answer = await send(shared, IMPORT, packed(parts_of(rows)), kind=XLSX)
    assert [fault[:2] for fault in faults(answer)] == [(3, "roleName"), (5, "enabled")]
    fine = rows.replace("<c><f>A1</f><v>x</v></c>", "<c><v>7</v></c>").replace("<v>x</v>", "<v>true</v>")
    answer = await send(shared, IMPORT, packed(parts_of(fine)), kind=XLSX)
    assert [row["row"] for row in answer.json["data"]["rows"]] == [3, 4, 5]


async def test_a_hostile_workbook_is_refused_and_one_that_is_too_large_too(shared: Inside) -> None:
    parts = parts_of("")
    parts["xl/workbook.xml"] = LAUGHS + parts["xl/workbook.xml"]
    assert (await send(shared, IMPORT, packed(parts), kind=XLSX)).status == 400
    many = rows_of(("roleCode", "roleName"), *[(f"r{n}", "R") for n in range(1001)])
    answer = await send(shared, IMPORT, packed(parts_of(many)), kind=XLSX)
    assert (answer.status, answer.json["errors"][0]["message"]) == (422, "There must be at most 1000 rows")
    assert (await send(shared, IMPORT, b"PK\x03\x04" + bytes(1024 * 1024), kind=XLSX)).status == 413
