// @ts-check
/** Tables as files of comma-separated values. */

/**
 * Return rows as CSV (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe before it.
 * @param {string[][]} rows
 */
export function csv(rows) {
  const cell = (/** @type {string} */ text) => {
    const plain = /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}
