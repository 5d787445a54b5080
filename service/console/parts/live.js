// @ts-check
/** Follows a log as it grows: the list is read again whenever something was written. */
import { Problem } from "../client/portcullis.js";
import { button } from "../core/dom.js";
import { LIVE } from "../strings/common.js";
import { tell } from "./dialog.js";

const PAUSE = 2_000; // milliseconds between two looks
const LONGEST = 30_000;

/**
 * Return a button that turns following on and off, `read`, which the list is to load its pages by, as it notes where
 * the log ends, and `filters`, which returns those of the list. The address remembers the choice.
 * @param {Page} page
 * @param {(query: Record<string, any>) => Promise<any>} ask Sends the request of the list.
 * @param {() => Promise<void>} reload
 */
export function following(page, ask, reload) {
  /** @type {string | null} */ let end = null;
  /** @type {Record<string, any>} */ let filters = {};
  let timer = 0;
  let pause = PAUSE;
  let on = page.query.get("follow") === "true";
  page.signal.addEventListener("abort", () => clearTimeout(timer));

  /** @param {Record<string, any>} query */
  async function read(query) {
    filters = without(query, ["follow", "page", "cursor", "size", "sort"]);
    const data = await ask(without(query, ["follow"]));
    end = data.followCursor ?? end;
    return data;
  }

  async function look() {
    try {
      if (end !== null && !document.hidden) {
        const { items, followCursor } = await ask({ ...filters, after: end, size: 100 });
        end = followCursor ?? end;
        if (items.length > 0) {
          tell(LIVE.more({ n: items.length }));
          await reload();
        }
      }
      pause = PAUSE;
    } catch (problem) {
      pause = Math.min(LONGEST, pause * 2); // the list itself shows what is wrong when it is read again
      // A restored database gives ids again: the list says where its log ends.
      if (problem instanceof Problem && problem.violations.some(({ field }) => field === "after"))
        await reload();
    }
    wait();
  }

  function wait() {
    clearTimeout(timer);
    if (on && !page.signal.aborted) timer = setTimeout(look, pause);
  }

  const toggle = button(
    LIVE.follow,
    () => {
      on = !on;
      toggle.setAttribute("aria-pressed", String(on));
      page.setQuery({ follow: on ? "true" : null }, { show: false });
      if (on) reload();
      wait();
    },
    { icon: "activity", "aria-pressed": String(on) },
  );
  wait();
  return { toggle, read, filters: () => filters };
}

/** @param {Record<string, any>} query @param {string[]} names */
function without(query, names) {
  return Object.fromEntries(Object.entries(query).filter(([name]) => !names.includes(name)));
}
