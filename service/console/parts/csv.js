// @ts-check
/** Tables as files of comma-separated values (RFC 4180). */

/**
 * Return rows as CSV. A text that a spreadsheet would take for a formula gets an apostrophe before it.
 * @param {string[][]} rows
 */
export function csv(rows) {
  const cell = (/** @type {string} */ text) => {
    const plain = /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/**
 * Return the cells of a CSV by lines; null for a text that is none. The separator is the most frequent one of the
 * first line, quoted cells left out.
 * @param {string} text
 */
export function cellsOf(text) {
  const whole = text.replace(/^\uFEFF/, "").replace(/^sep=.(\r\n|\n|\r)/i, "");
  const head = (/^[\s,;]*(.*)/.exec(whole)?.[1] ?? "").replaceAll(/"[^"]*"/g, "");
  const [separator] = [",", ";", "\t"]
    .map((each) => /** @type {const} */ ([each, head.split(each).length]))
    .reduce((best, next) => (next[1] > best[1] ? next : best));
  const cell = new RegExp(`("(?:[^"]|"")*"|[^"${separator}\\r\\n]*)(${separator}|\\r\\n|\\n|\\r|$)`, "y");
  /** @type {string[][]} */ const lines = [];
  /** @type {string[]} */ let line = [];
  while (cell.lastIndex < whole.length) {
    const match = cell.exec(whole);
    if (!match) return null;
    line.push(match[1].startsWith('"') ? match[1].slice(1, -1).replaceAll('""', '"') : match[1]);
    if (match[2] === separator) continue;
    lines.push(line);
    line = [];
  }
  return line.length ? [...lines, [...line, ""]] : lines;
}
