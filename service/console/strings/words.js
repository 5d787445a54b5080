// @ts-check
/** Counts and durations in words, for the texts of the views. */

/** @param {number} n @param {string} singular @param {string} plural */
export const count = (n, singular, plural) => `${n.toLocaleString()} ${n === 1 ? singular : plural}`;

/** Return a time in the largest unit of which it is a whole number. @param {number} seconds */
export function duration(seconds) {
  if (seconds % 86400 === 0) return count(seconds / 86400, "day", "days");
  if (seconds % 3600 === 0) return count(seconds / 3600, "hour", "hours");
  if (seconds % 60 === 0) return count(seconds / 60, "minute", "minutes");
  return count(seconds, "second", "seconds");
}
