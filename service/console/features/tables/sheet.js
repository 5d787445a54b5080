// @ts-check
/** A table of comma-separated values as a spreadsheet shows it: its cells can be corrected, and its rows taken out. */
import { cellsOf, csv } from "../../parts/csv.js";

export class Sheet {
  /** @param {string[][]} lines */
  constructor(lines) {
    this.lines = lines;
    /** The place of the header: lines before it are empty. */
    this.head = lines.findIndex((cells) => cells.some((cell) => cell.trim()));
  }

  /** Return the table of a file; null for one that is none. @param {File} file */
  static async of(file) {
    if (!/\.(csv|tsv|txt)$/i.test(file.name)) return null;
    const lines = cellsOf(await file.text());
    const sheet = lines && new Sheet(lines);
    return sheet && sheet.head >= 0 ? sheet : null;
  }

  /**
   * Return the place of a fault: its line and its column. Null for one of the whole table.
   * @param {{row?: number | null, field: string}} fault `row` counts from the line below the header.
   */
  placeOf({ row, field }) {
    const name = (/^\w+/.exec(field)?.[0] ?? field).toLowerCase();
    const column = this.lines[this.head].findIndex((cell) => cell.trim().toLowerCase() === name);
    const line = this.head + (row ?? 0);
    return (row || column >= 0) && this.lines[line] ? { line, column, header: !row } : null;
  }

  /** Return the table as a file has it. */
  text() {
    return csv(this.lines);
  }

  /** Return some of its lines as a table. @param {Iterable<number>} lines */
  only(lines) {
    return csv([this.head, ...lines].map((line) => this.lines[line]));
  }
}

/**
 * Return the text with its unknown words replaced by what was probably meant; null if nothing is close.
 * @param {string} text
 * @param {readonly string[]} known
 */
export function meant(text, known) {
  const words = text.split(/\s+/).filter(Boolean);
  const better = words.map((word) => (known.includes(word) ? word : nearest(word, known)));
  return words.length > 0 && better.every((word) => word !== null) && better.join(" ") !== text.trim()
    ? better.join(" ")
    : null;
}

/**
 * Return the known word that is closest to another one, within a third of its letters.
 * @param {string} word @param {readonly string[]} known
 */
function nearest(word, known) {
  const ranked = known
    .map((each) => ({ each, far: distance(word.toLowerCase(), each.toLowerCase()) }))
    .filter(({ far }) => far <= Math.max(1, Math.floor(word.length / 3)))
    .sort((a, b) => a.far - b.far);
  return ranked[0]?.each ?? null;
}

/** Return how many letters have to be changed, added or taken. @param {string} a @param {string} b */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, place) => place);
  for (const [index, letter] of [...a].entries()) {
    const next = [index + 1];
    for (let place = 1; place <= b.length; place += 1)
      next.push(
        Math.min(row[place] + 1, next[place - 1] + 1, row[place - 1] + Number(letter !== b[place - 1])),
      );
    row = next;
  }
  return row[b.length];
}
