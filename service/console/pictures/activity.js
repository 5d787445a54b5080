// @ts-check
/** Sign-ins, refusals and logged operations by hour or by day, as bars that load themselves. */
import { dates } from "../core/locale.js";
import { ACTIVITY as T } from "../strings/pictures.js";
import { filled } from "../parts/block.js";
import { timeText } from "../parts/time.js";
import { bars } from "./bars.js";

/** @type {Record<string, Intl.DateTimeFormatOptions>} */
const FORMS = {
  hour: { hour: "2-digit", minute: "2-digit" },
  date: { dateStyle: "medium" },
  short: { month: "short", day: "numeric" },
  day: { month: "short", day: "numeric", hour: "2-digit" },
};

/** How many hours are shown by hour at most. */
const WEEK = 168;

/** @typedef {import("../types/api").ActivityHour} Hour */
/** @typedef {"logins" | "loginFailures" | "allowed" | "refused"} Count */

/**
 * Return what happened in the last hours. The caller may call `GET /api/system/activity`.
 * @param {Page} page
 * @param {number} [hours] At most 2160: 90 days. More than a week is shown by day.
 */
export function activity(page, hours = 24) {
  return filled(page, async () =>
    drawn((await page.call("GET", "/api/system/activity", { query: { hours } })).data.hours),
  );
}

/** @param {readonly Hour[]} hours */
function drawn(hours) {
  const days = hours.length > WEEK;
  const parts = days ? byDay(hours) : hours;
  const text = (/** @type {Hour} */ { hour }) =>
    days ? dates(FORMS.date).format(new Date(hour)) : timeText(hour);
  const begins = new Map(parts.map((part) => [text(part), new Date(part.hour)]));
  const short = dates(days ? FORMS.short : hours.length > 24 ? FORMS.day : FORMS.hour);
  const shown = /** @type {const} */ ([
    ["logins", "good"],
    ["loginFailures", "warn"],
    ["allowed", "info"],
    ["refused", "bad"],
  ]);
  return bars({
    name: days ? T.ofDays({ days: parts.length }) : T.name({ hours: hours.length }),
    place: days ? T.day : T.hour,
    places: parts.map(text),
    short: (place) => short.format(begins.get(place)),
    kinds: shown.map(([name, kind]) => ({
      title: T.kinds[name],
      kind,
      counts: parts.map((part) => part[name]),
    })),
  });
}

/** Return the sums of days in the reader's zone. @param {readonly Hour[]} hours @returns {Hour[]} */
function byDay(hours) {
  const sum = (/** @type {Hour[]} */ part, /** @type {Count} */ name) =>
    part.reduce((all, hour) => all + hour[name], 0);
  return [...Map.groupBy(hours, ({ hour }) => dates(FORMS.date).format(new Date(hour))).values()].map(
    (part) => ({
      hour: part[0].hour,
      logins: sum(part, "logins"),
      loginFailures: sum(part, "loginFailures"),
      allowed: sum(part, "allowed"),
      refused: sum(part, "refused"),
    }),
  );
}
