// @ts-check
/** Sign-ins and refusals by hour, as bars that load themselves. */
import { h } from "../core/dom.js";
import { FRAME } from "../strings/frame.js";
import { ACTIVITY as T } from "../strings/pictures.js";
import { timeText } from "../parts/time.js";
import { trouble } from "../parts/trouble.js";
import { bars } from "./bars.js";

const HOUR = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit" });

/**
 * Return what happened in the last hours. The caller may call `GET /api/system/activity`.
 * @param {import("../core/page.js").Page} page
 * @param {number} [hours] At most 168.
 */
export function activity(page, hours = 24) {
  const place = h("div", null, h("p", { class: "loading", role: "status" }, FRAME.loading));
  const load = async () => {
    try {
      const { data } = await page.call("GET", "/api/system/activity", { query: { hours } });
      place.replaceChildren(drawn(data.hours));
    } catch (problem) {
      if (!page.signal.aborted) place.replaceChildren(trouble(problem, load));
    }
  };
  page.during(load());
  return place;
}

/** @param {readonly import("../types/api").ActivityHour[]} hours */
function drawn(hours) {
  const begins = new Map(hours.map(({ hour }) => [timeText(hour), new Date(hour)]));
  const counts = (/** @type {"logins" | "loginFailures" | "allowed" | "refused"} */ name) =>
    hours.map((hour) => hour[name]);
  const shown = /** @type {const} */ ([
    ["logins", "good"],
    ["loginFailures", "warn"],
    ["allowed", "info"],
    ["refused", "bad"],
  ]);
  return bars({
    name: T.name(hours.length),
    place: T.hour,
    places: hours.map(({ hour }) => timeText(hour)),
    short: (text) => (hours.length > 24 ? DAY : HOUR).format(begins.get(text)),
    kinds: shown.map(([name, kind]) => ({ title: T.kinds[name], kind, counts: counts(name) })),
  });
}
