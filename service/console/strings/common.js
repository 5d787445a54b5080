// @ts-check
/** The texts of what several views share. */
import { enumerated } from "../core/locale.js";
import { saying, texts } from "../core/texts.js";
import { duration } from "./words.js";

const T = await texts("start/common");

export const { ACTION, CHANGES, LIVE, RECORD, RELATED } = T;

const F = await texts("start/faults");

export const TROUBLE = saying(T.TROUBLE, {
  notDone: (/** @type {string} */ act) => T.TROUBLE.notDone({ act: act.replace(/[?？]$/, "") }),
});

/**
 * What refusals mean to the reader, title and text: by status, and by codes that say more. The console's own:
 * `outdated` when the file of a view can't be loaded, `elsewhere` for a redirect.
 */
export const REFUSALS = /** @type {Record<string, string[]>} */ (F.REFUSALS);

/** The rules that keep records whole, by `rule` of a conflict. */
export const RULES = /** @type {Record<string, string[]>} */ (F.RULES);

/** Usual lengths of time, in seconds and in words. */
export const lifetimes = () =>
  [3600, 86_400, 604_800, 2_592_000, 7_776_000, 31_536_000].map(
    (seconds) => /** @type {[number, string]} */ ([seconds, duration(seconds)]),
  );

/** Return names, and how many more there are. @param {readonly string[]} names @param {number} all */
export function namesOf(names, all) {
  const shown = enumerated(names);
  return all > names.length ? T.LIST.more({ names: shown, left: all - names.length }) : shown;
}

export { enumerated };

export const LIST = T.LIST;

export const PREVIEW = saying(T.PREVIEW, {
  demands: (/** @type {string} */ before, /** @type {string} */ after) =>
    T.PREVIEW.demands({ before: before || T.PREVIEW.noDemand, after: after || T.PREVIEW.noDemand }),
  keptOut: (/** @type {number} */ users, /** @type {readonly string[]} */ names) =>
    names.length
      ? T.PREVIEW.keptOut({ users, names: namesOf(names, users) })
      : T.PREVIEW.keptOutUnnamed({ users }),
});
