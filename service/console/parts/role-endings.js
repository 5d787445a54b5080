// @ts-check
/** The own roles that end, with the time that is left. */
import { definition, h, link } from "../core/dom.js";
import { session } from "../core/session.js";
import { ENDINGS as T } from "../strings/role-endings.js";
import { roleText } from "./roles.js";
import { time } from "./time.js";

/** @typedef {import("../core/queue.js").AccessRequest} AccessRequest */

/** Milliseconds after which what has ended here has ended for the service as well. */
const SOON = 1000;

/**
 * Return when the role of an approved request ends, in milliseconds; null for another one. Somebody may have ended it
 * earlier.
 * @param {AccessRequest} request
 */
export function endOf({ state, endTime, from, until, duration, decisions }) {
  if (state !== "approved" || !endTime) return null;
  const begins = Math.max(Date.parse(endTime), from ? Date.parse(from) : 0);
  const ends = [until, ...decisions.map((decision) => decision.until)].filter((end) => end !== null);
  return Math.min(...ends.map((end) => Date.parse(end)), begins + (duration ?? Infinity) * 1000);
}

/**
 * Return the own roles that end, each with the time that is left, and the request that one comes from; null if there
 * is none.
 * @param {Page} page
 */
export async function endings(page) {
  const { data: own } = await page.call("GET", "/api/user/info");
  if (own.endings.length === 0) return null;
  const query = { userId: page.me.id, state: "approved", sort: "-id", size: 100 };
  const given = page.may("GET /api/access-request/list")
    ? (await page.call("GET", "/api/access-request/list", { query })).data.items
    : [];
  const held = own.endings.map(({ roleCode, until }) => {
    const end = Date.parse(until);
    return {
      roleCode,
      end,
      request: given.find((each) => each.roleCode === roleCode && endOf(each) === end),
    };
  });
  return [
    h("p", { class: "help" }, T.text),
    definition(
      held.map(({ roleCode, end, request }) => [
        roleText({ roleCode, roleName: request?.roleName }),
        [
          countdown(page, end, () => session.hooks.changed()),
          " ",
          h("small", null, "(", time(new Date(end).toISOString()), ")"),
          " ",
          request && link(`/access-requests/${request.id}`, T.request),
        ],
      ]),
    ),
  ];
}

/**
 * Return how long it is until an instant, which counts down while its view is shown.
 * @param {Page} page @param {number} end Milliseconds.
 * @param {() => void} [over] Called once the instant has passed, for the service too.
 */
export function countdown(page, end, over) {
  const shown = h("strong", { class: "countdown", role: "timer" });
  const count = () => {
    const seconds = Math.ceil((end - Date.now()) / 1000);
    shown.textContent = seconds > 0 ? T.left(seconds) : T.gone;
    if (seconds > 0) return;
    clearInterval(timer);
    if (over) setTimeout(over, SOON);
  };
  const timer = setInterval(count, 1000);
  page.signal.addEventListener("abort", () => clearInterval(timer));
  count();
  return shown;
}
