// @ts-check
/** Tables as workbooks of Office Open XML (ECMA-376): texts and times, never formulas. Loaded when one is asked for. */

const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
const SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml";
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const XF = 'fillId="0" borderId="0" xfId="0"';

/** The most characters of a cell. */
const MOST = 32_767;
/** Day 0 of dates after February 1900, in milliseconds. */
const FIRST_DAY = Date.UTC(1899, 11, 30);
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/**
 * Return rows as a workbook; the first row stays in place when the others scroll. Exact times are dates in UTC.
 * @param {string} name @param {string[]} titles @param {string[][]} rows
 */
export function workbook(name, titles, rows) {
  const timed = titles.map((_, place) => rows.some((cells) => TIME.test(cells[place])));
  const heads = titles.map((title, place) => (timed[place] ? `${title} (UTC)` : title));
  const lines = [
    line(heads, 1, (text, place) => textCell(text, place, 3)),
    ...rows.map((cells, number) =>
      line(cells, number + 2, (text, place) =>
        TIME.test(text) ? timeCell(text, place) : text && textCell(text, place, 1),
      ),
    ),
  ];
  const pane = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>';
  const sheet =
    `${HEAD}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0">${pane}</sheetView></sheetViews>` +
    `<cols><col min="1" max="${titles.length}" width="20" style="1" customWidth="1"/></cols>` +
    `<sheetData>${lines.join("")}</sheetData></worksheet>`;
  return archive([
    [
      "[Content_Types].xml",
      `${HEAD}<Types xmlns="${PACKAGE}/content-types">` +
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
        `<Override PartName="/xl/workbook.xml" ContentType="${SHEET}.sheet.main+xml"/>` +
        `<Override PartName="/xl/styles.xml" ContentType="${SHEET}.styles+xml"/>` +
        `<Override PartName="/xl/worksheets/sheet1.xml" ContentType="${SHEET}.worksheet+xml"/></Types>`,
    ],
    ["_rels/.rels", related([["officeDocument", "xl/workbook.xml"]])],
    [
      "xl/workbook.xml",
      `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>` +
        `<sheet name="${escaped(name.replaceAll(/[[\]:*?/\\]/g, " ").slice(0, 31))}" sheetId="1" r:id="rId1"/>` +
        "</sheets></workbook>",
    ],
    [
      "xl/_rels/workbook.xml.rels",
      related([
        ["worksheet", "worksheets/sheet1.xml"],
        ["styles", "styles.xml"],
      ]),
    ],
    [
      "xl/styles.xml",
      `${HEAD}<styleSheet xmlns="${MAIN}">` +
        '<numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss.000"/></numFmts>' +
        '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>' +
        '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>' +
        '<fills count="2"><fill><patternFill patternType="none"/></fill>' +
        '<fill><patternFill patternType="gray125"/></fill></fills>' +
        '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>' +
        '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
        `<cellXfs count="4"><xf numFmtId="0" fontId="0" ${XF}/>` +
        `<xf numFmtId="49" fontId="0" ${XF} applyNumberFormat="1"/>` +
        `<xf numFmtId="164" fontId="0" ${XF} applyNumberFormat="1"/>` +
        `<xf numFmtId="49" fontId="1" ${XF} applyNumberFormat="1" applyFont="1"/></cellXfs>` +
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
    ],
    ["xl/worksheets/sheet1.xml", sheet],
  ]);
}

/**
 * @param {string[]} cells @param {number} number
 * @param {(text: string, place: string) => string} cell
 */
function line(cells, number, cell) {
  return `<row r="${number}">${cells.map((text, column) => cell(text, `${letters(column)}${number}`)).join("")}</row>`;
}

/** @param {string} text @param {string} place @param {number} style */
function textCell(text, place, style) {
  const kept = text.length > MOST ? `${text.slice(0, MOST - 2)} …` : text;
  return `<c r="${place}" s="${style}" t="inlineStr"><is><t xml:space="preserve">${escaped(kept)}</t></is></c>`;
}

/** @param {string} text @param {string} place */
function timeCell(text, place) {
  return `<c r="${place}" s="2"><v>${(Date.parse(text) - FIRST_DAY) / 86_400_000}</v></c>`;
}

/** Return the letters of a column, counted from 0. @param {number} column @returns {string} */
function letters(column) {
  const last = String.fromCharCode(65 + (column % 26));
  return column < 26 ? last : letters(Math.floor(column / 26) - 1) + last;
}

/** Return a text as XML; `_xHHHH_` stands for what XML can't hold, and for what looks like it. @param {string} text */
function escaped(text) {
  return text
    .toWellFormed()
    .replaceAll(
      // eslint-disable-next-line no-control-regex
      /_(?=x[0-9A-Fa-f]{4}_)|[\u0000-\u0008\u000b-\u001f\ufffe\uffff]/g,
      (each) => `_x${each.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`,
    )
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** @param {[kind: string, target: string][]} targets */
function related(targets) {
  const links = targets.map(
    ([kind, target], place) =>
      `<Relationship Id="rId${place + 1}" Type="${OFFICE}/${kind}" Target="${target}"/>`,
  );
  return `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">${links.join("")}</Relationships>`;
}

/** Return an archive (ZIP) of parts, as they are. @param {[path: string, text: string][]} parts */
function archive(parts) {
  const encoder = new TextEncoder();
  /** @type {BlobPart[]} */ const files = [];
  /** @type {BlobPart[]} */ const directory = [];
  let offset = 0;
  let size = 0;
  for (const [path, text] of parts) {
    const name = encoder.encode(path);
    const content = encoder.encode(text);
    // Version 2.0, names in UTF-8, stored, 1 January 1980.
    const common = [20, 0x800, 0, 0, 0x21];
    const numbers = [crcOf(content), content.length, content.length];
    const local = fields([[0x04034b50], common, numbers, [name.length, 0]], [4, 2, 4, 2]);
    const central = fields(
      [[0x02014b50], [20, ...common], numbers, [name.length, 0, 0, 0, 0], [0, offset]],
      [4, 2, 4, 2, 4],
    );
    files.push(local, name, content);
    directory.push(central, name);
    offset += local.length + name.length + content.length;
    size += central.length + name.length;
  }
  const end = fields([[0x06054b50], [0, 0, parts.length, parts.length], [size, offset], [0]], [4, 2, 4, 2]);
  return new Blob([...files, ...directory, end]);
}

/** Return groups of numbers as bytes, the lowest first. @param {number[][]} groups @param {number[]} sizes */
function fields(groups, sizes) {
  return new Uint8Array(
    groups.flatMap((numbers, place) =>
      numbers.flatMap((number) =>
        Array.from({ length: sizes[place] }, (_, byte) => (number >>> (8 * byte)) & 255),
      ),
    ),
  );
}

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest;
});

/** Return the checksum of an archive's part. @param {Uint8Array} content */
function crcOf(content) {
  let rest = 0xffffffff;
  for (const byte of content) rest = CRC[(rest ^ byte) & 255] ^ (rest >>> 8);
  return (rest ^ 0xffffffff) >>> 0;
}
