// @ts-check
/**
 * Numbers, times and lists as the language of the page writes them. The browser only chooses among the regions of that
 * language: an English page has no digit, month or calendar of another language.
 */

/** What the formats are made for: changes with the language. */
let locale = "en";
/** The time zone of the account; the browser's if it has none. @type {string | undefined} */
let zone;
/** @type {Map<string, any>} */ const formats = new Map();

/**
 * Write in a language from now on, and say so in the page.
 * @param {string} tag
 * @param {{dir: string, locale: string}} [language] Its direction, and the locale with its digits and its calendar.
 */
export function speak(tag, language = { dir: "ltr", locale: tag }) {
  const own = new Intl.Locale(language.locale);
  const { region } =
    navigator.languages
      .map((each) => new Intl.Locale(each))
      .find((each) => each.language === own.language && each.region) ?? own;
  locale = new Intl.Locale(own, own.region || !region ? {} : { region }).toString();
  formats.clear();
  Object.assign(document.documentElement, { lang: tag, dir: language.dir });
}

/** Show times in a zone, such as `Asia/Shanghai`, from now on. @param {string | null | undefined} name */
export function useZone(name) {
  zone = name ?? undefined;
  formats.clear();
}

/** Return the zone that times are shown in, such as `Europe/Berlin`. */
export function zoneOfPage() {
  return dates({}).resolvedOptions().timeZone;
}

/** Return the short name of the zone at a time, such as `GMT+1`. @param {Date} date */
export function zoneName(date) {
  const parts = dates({ timeZoneName: "short" }).formatToParts(date);
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
}

/**
 * @template T
 * @param {new (locale: string, options: any) => T} format
 * @param {object} options
 * @returns {T}
 */
function made(format, options) {
  const key = `${format.name} ${JSON.stringify(options)}`;
  if (!formats.has(key)) formats.set(key, new format(locale, options));
  return formats.get(key);
}

/** Return a format of times in the zone of the page. @param {Intl.DateTimeFormatOptions} options */
export function dates(options) {
  return made(Intl.DateTimeFormat, { ...options, timeZone: options.timeZone ?? zone });
}

/** Return a number with the signs of the language. @param {number} n @param {Intl.NumberFormatOptions} [options] */
export function shownNumber(n, options = {}) {
  return made(Intl.NumberFormat, options).format(n);
}

/** Return the plural category of a number: `one`, `other` … @param {number} n */
export function pluralOf(n) {
  return made(Intl.PluralRules, {}).select(n);
}

/**
 * Return a length of time in words: `5 days`.
 * @param {number} n @param {"year" | "day" | "hour" | "minute" | "second"} unit
 */
export function lasting(n, unit) {
  return shownNumber(n, { style: "unit", unit, unitDisplay: "long" });
}

/** Return how far a time is away: `in 3 days`. @param {number} n @param {Intl.RelativeTimeFormatUnit} unit */
export function away(n, unit) {
  return made(Intl.RelativeTimeFormat, { numeric: "auto" }).format(n, unit);
}

/**
 * Return the parts of a list: its items, and the words and signs between them.
 * @param {readonly string[]} items
 * @param {"conjunction" | "disjunction"} [type]
 */
export function listParts(items, type = "conjunction") {
  return made(Intl.ListFormat, { type }).formatToParts(items);
}

/**
 * Return a list in words: `a, b and c`.
 * @param {readonly string[]} items @param {"conjunction" | "disjunction"} [type]
 */
export function listed(items, type) {
  return listParts(items, type)
    .map(({ value }) => value)
    .join("");
}

/**
 * Return texts one after another, such as codes: `a, b, c`.
 * @param {readonly (string | null | undefined | false)[]} texts Those without a text are left out.
 */
export function enumerated(texts) {
  return texts.filter(Boolean).join(between());
}

/** Return what stands between texts one after another. */
export const between = () => listParts(["1", "2", "3"])[1]?.value ?? "";

/** Compare two texts as the language sorts them. @param {string} a @param {string} b */
export function compare(a, b) {
  return made(Intl.Collator, {}).compare(a, b);
}

/** Return a time as text, such as in a sentence. @param {string} iso RFC 3339. */
export function timeText(iso) {
  return dates({ dateStyle: "medium", timeStyle: "short" }).format(new Date(iso));
}

/** Return how far the zone of the page is from UTC at an instant, in milliseconds. @param {number} instant */
function offset(instant) {
  const whole = Math.floor(instant / 1000) * 1000;
  return Date.parse(`${wallTime(new Date(whole), true)}Z`) - whole;
}

/**
 * Return what a clock in the zone of the page shows, as inputs of times have it: `2026-11-30T17:55`.
 * @param {Date} date
 */
export function wallTime(date, seconds = false) {
  const format = new Intl.DateTimeFormat("en-u-ca-gregory-nu-latn", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    ...Object.fromEntries(["month", "day", "hour", "minute", "second"].map((name) => [name, "2-digit"])),
  });
  const part = Object.fromEntries(format.formatToParts(date).map(({ type, value }) => [type, value]));
  const minutes = `${part.year.padStart(4, "0")}-${part.month}-${part.day}T${part.hour}:${part.minute}`;
  return seconds ? `${minutes}:${part.second}` : minutes;
}

/** Return the instant at which a clock in the zone of the page shows a time. @param {string} wall As of `wallTime`. */
export function instantOf(wall) {
  const shown = Date.parse(`${wall}Z`);
  const near = shown - offset(shown);
  return new Date(shown - offset(near)); // the offset may change in between
}
