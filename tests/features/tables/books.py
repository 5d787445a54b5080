"""Workbooks of the tests, part by part."""

import io
import zipfile
from collections.abc import Mapping

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def relations(*related: tuple[str, str, str]) -> str:
    """Return a part of relations: id, kind and target, with further attributes behind it."""
    links = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for key, kind, target in related
    )
    return f'<Relationships xmlns="{RELATIONS}">{links}</Relationships>'


def sheet(rows: str) -> str:
    """Return a sheet with these rows."""
    return f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'


def rows_of(*rows: tuple[str, ...]) -> str:
    """Return rows of texts as they stand in a sheet."""
    return "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row) + "</row>"
        for row in rows
    )


def parts_of(rows: str, **more: str) -> dict[str, str]:
    """Return the parts of a workbook with one sheet."""
    return {
        "_rels/.rels": relations(("rId1", "officeDocument", "xl/workbook.xml")),
        "xl/_rels/workbook.xml.rels": relations(
            ("rId1", "worksheet", "worksheets/sheet1.xml"),
            ("rId2", "worksheet", "/xl/worksheets/sheet2.xml"),
            ("rId3", "styles", "styles.xml"),
            ("rId4", "sharedStrings", "sharedStrings.xml"),
        ),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="One" sheetId="1" r:id="rId1"/><sheet name="Two" sheetId="2" r:id="rId2"/>'
        "</sheets></workbook>",
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><numFmts><numFmt numFmtId="170" formatCode="[h]:mm"/>'
        '<numFmt numFmtId="171" formatCode="0.0&quot;days&quot;"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="171"/></cellXfs>'
        "</styleSheet>",
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"><si><t>shared</t></si>'
        "<si><r><t>ri</t></r><r><t>ch</t></r><rPh><t>hint</t></rPh></si></sst>",
        "xl/worksheets/sheet1.xml": sheet(rows),
        "xl/worksheets/sheet2.xml": sheet(""),
        **more,
    }


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    """Return the workbook with these parts."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return body.getvalue()
