// @ts-check
/** Times in the reader's zone; the exact instant shows on hover. They are no tab stops: they do nothing. */
import { h } from "../core/dom.js";
import { away, dates, timeText, zoneName } from "../core/locale.js";
import { FORM } from "../strings/form.js";

/** @type {Record<string, Intl.DateTimeFormatOptions>} */
const FORMS = {
  full: { dateStyle: "medium", timeStyle: "short" },
  day: { dateStyle: "medium" },
  seconds: { dateStyle: "medium", timeStyle: "medium" },
  clock: { timeStyle: "short" },
  exact: { dateStyle: "full", timeStyle: "long" },
};
const STEPS = /** @type {[number, Intl.RelativeTimeFormatUnit][]} */ ([
  [60, "second"],
  [60, "minute"],
  [24, "hour"],
]);

/**
 * Return a time, or nothing for none.
 * @param {string | null | undefined} iso RFC 3339.
 * @param {{ago?: boolean, seconds?: boolean, day?: boolean,
 *   clock?: boolean}} [options] `ago`: in words such as "5 minutes ago", up to
 *   a week; `seconds`: with these, as in logs; `day`: the day alone; `clock`: the
 *   time of the day alone.
 */
export function time(iso, { ago = false, seconds = false, day = false, clock = false } = {}) {
  if (!iso) return null;
  const date = new Date(iso);
  const form = seconds ? FORMS.seconds : day ? FORMS.day : clock ? FORMS.clock : FORMS.full;
  return h(
    "time",
    { datetime: iso, class: "time", title: exact(iso) },
    (ago && since(date)) || dates(form).format(date),
  );
}

/**
 * Return when a record was changed, and by whom if that is known.
 * @param {{updateTime: string, updatedBy: string | null}} record
 */
export function edited({ updateTime, updatedBy }) {
  return [time(updateTime), updatedBy && [" ", FORM.by({ name: updatedBy })]];
}

/**
 * Return a time with its zone, and how far it is from now, such as "in 3 days"; nothing for none.
 * @param {string | null | undefined} iso RFC 3339.
 */
export function coming(iso) {
  if (!iso) return null;
  const date = new Date(iso);
  return [time(iso), ` ${zoneName(date)} `, h("small", null, `(${since(date, Infinity)})`)];
}

export { timeText };

/** Return the exact instant, in the reader's zone and in UTC. @param {string} iso */
export function exact(iso) {
  return `${dates(FORMS.exact).format(new Date(iso))} · ${iso}`;
}

/** @param {Date} date @param {number} [days] From how many days on nothing is returned. */
function since(date, days = 7) {
  let amount = (date.getTime() - Date.now()) / 1000;
  for (const [size, unit] of STEPS) {
    if (Math.abs(amount) < size) return away(Math.round(amount), unit);
    amount /= size;
  }
  return Math.abs(amount) < days ? away(Math.round(amount), "day") : null;
}
