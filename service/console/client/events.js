// @ts-check
/**
 * The events of the caller's own account, as they happen: one connection for all tabs of a browser.
 *
 * Without it, or while the service has no stream for this session, front ends ask as before: `identify` and the answers
 * of requests say what has changed.
 */
import { Problem } from "./portcullis.js";

/** @import { Session } from "./portcullis.js" */
/** @import { OwnEvent } from "./types.js" */

const QUIET = 45_000; // ms without a byte after which the connection counts as lost: three heartbeats
const SPREAD = 1_000; // ms over which clients react to a change that concerns many
const LONGEST = 60_000; // ms between two attempts
/** Events after which front ends show something else; all others report what happened. */
const CHANGES = ["connected", "permissions", "end"];
/** Statuses after which a retry is useless: the service has no stream for this session. */
const NONE = [403, 404, 405, 409];

/**
 * Follow the events of the account that `session` has identified, until `signal` is aborted or another user signs in.
 * `changed` is called in each tab when roles, codes, menus or operations have changed, and when the session has ended:
 * `end` is the name of that event. By default it calls `identify`, which then asks for a login. `menus` then gets the
 * tree of `session.menus()`. `happened` is called with each named event, such as `role.given`, and with `sessions`.
 * @param {Session} session
 * @param {{
 *   changed?: (event: OwnEvent) => unknown,
 *   menus?: (tree: any) => unknown,
 *   happened?: (event: OwnEvent) => unknown,
 *   signal?: AbortSignal,
 * }} [options]
 */
export async function follow(
  session,
  { changed = () => session.identify(), menus, happened = () => {}, signal } = {},
) {
  const user = session.me?.id;
  const name = `${session.name}-events`;
  const channel = new BroadcastChannel(name);
  const isOver = () => Boolean(signal?.aborted) || user === undefined || session.me?.id !== user;
  let last = "";

  /** @param {OwnEvent} event */
  function take(event) {
    const isFirst = last === ""; // a later `connected` means that events were missed
    if (event.id) last = event.id;
    if (isOver() || (event.event === "connected" && isFirst && isKnown(session, event))) return;
    const isChange = CHANGES.includes(event.event);
    const spread = event.event === "end" ? 0 : Math.random() * SPREAD;
    setTimeout(async () => {
      try {
        if (isOver()) return;
        await (isChange ? changed(event) : happened(event));
        if (menus && isChange && event.event !== "end" && !isOver()) menus(await session.menus());
      } catch {
        // The next request of the page meets the same, and says what is wrong.
      }
    }, spread);
  }

  async function lead() {
    let pause = SPREAD;
    while (!isOver()) {
      let wait = pause;
      try {
        for await (const event of events(session, last, signal)) {
          if (event.retry) pause = wait = event.retry;
          if (!event.event) continue;
          channel.postMessage({ user, event });
          take(event);
        }
      } catch (problem) {
        if (isOver()) return;
        const status = problem instanceof Problem ? problem.status : 0;
        if (NONE.includes(status)) return;
        if (status === 400) last = ""; // the service does not know the id
        if (status === 401) await session.change(LONGEST); // the session is over until somebody signs in again
        wait = Math.max(pause, 1000 * ((problem instanceof Problem && problem.retryAfter) || 0));
        pause = Math.min(LONGEST, 2 * pause);
      }
      await new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", wake);
          resolve(undefined);
        };
        const timer = setTimeout(wake, wait);
        signal?.addEventListener("abort", wake);
      });
    }
  }

  channel.onmessage = ({ data }) => {
    if (data.user === user) take(data.event);
  };
  try {
    // Browsers have locks only in secure contexts; elsewhere each tab has a stream of its own, as far as there are any.
    const { locks } = globalThis.navigator ?? {};
    if (locks) await locks.request(name, signal ? { signal } : {}, lead);
    else await lead();
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    channel.close();
  }
}

/** True if the caller has the reported roles and codes. @param {Session} session @param {OwnEvent} event */
function isKnown({ me }, { data }) {
  const text = (/** @type {any} */ { roles, permissions }) =>
    JSON.stringify([[...roles].sort(), [...permissions].sort()]);
  return me !== null && text(me) === text(data);
}

/**
 * Yield the events of one connection until it ends; throws `Problem`.
 * @param {Session} session
 * @param {string} last The id of the last event, after which it goes on.
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<OwnEvent>}
 */
async function* events(session, last, signal) {
  const lost = new AbortController();
  const until = signal ? AbortSignal.any([signal, lost.signal]) : lost.signal;
  /** @type {Record<string, string>} */ const headers = last ? { "Last-Event-ID": last } : {};
  const { data } = await session.call("GET", "/api/events/mine", { raw: true, signal: until, headers });
  const reader = data.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const timer = setTimeout(() => lost.abort(), QUIET);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) yield eventOf(block);
  }
}

/** @param {string} block @returns {OwnEvent} */
function eventOf(block) {
  /** @type {Record<string, string>} */ const fields = {};
  for (const line of block.split("\n")) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (field) fields[field] = value ?? "";
  }
  const { event = "", id = "", data, retry } = fields;
  return { event, id, data: data ? JSON.parse(data) : null, retry: Number(retry ?? 0) };
}
