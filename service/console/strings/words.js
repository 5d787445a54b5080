// @ts-check
/** Lengths of time in words, for the texts of the views. */
import { lasting } from "../core/locale.js";

const UNITS = /** @type {[number, "year" | "day" | "hour" | "minute"][]} */ ([
  [31_536_000, "year"],
  [86_400, "day"],
  [3600, "hour"],
  [60, "minute"],
]);

/** Return a length of time in the largest unit of which it is a whole number. @param {number} seconds */
export function duration(seconds) {
  const [size, unit] = UNITS.find(([each]) => seconds !== 0 && seconds % each === 0) ?? [1, "second"];
  return lasting(seconds / size, unit);
}
