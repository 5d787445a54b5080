// @ts-check
/** The texts of what several views share. */
import { say, saying, texts } from "../core/texts.js";
import { duration } from "./words.js";

const T = /** @type {import("../texts/en/start/common.json")} */ (await texts("start/common"));

const F = /** @type {import("../texts/en/start/faults.json")} */ (await texts("start/faults"));

export const ACTION = saying(T.ACTION, {
  copyOne: (/** @type {string} */ text) => say(T.ACTION.copyOne, { text }),
  copiedOne: (/** @type {string} */ text) => say(T.ACTION.copiedOne, { text }),
});

export const TROUBLE = saying(T.TROUBLE, {
  notDone: (/** @type {string} */ act) => say(T.TROUBLE.notDone, { act: act.replace(/[?？]$/, "") }),
  bannedUntil: (/** @type {string} */ time) => say(T.TROUBLE.bannedUntil, { time }),
  needsAny: (/** @type {string} */ codes) => say(T.TROUBLE.needsAny, { codes }),
  needsAll: (/** @type {string} */ codes) => say(T.TROUBLE.needsAll, { codes }),
  wait: (/** @type {number} */ seconds) => say(T.TROUBLE.wait, { seconds }),
  askFor: (/** @type {string} */ role) => say(T.TROUBLE.askFor, { role }),
  andMore: (/** @type {number} */ n) => say(T.TROUBLE.andMore, { n }),
});

/**
 * What refusals mean to the reader, title and text: by status, and by codes that say more. The console's own:
 * `outdated` when the file of a view can't be loaded, `elsewhere` for a redirect.
 */
export const REFUSALS = /** @type {Record<string, string[]>} */ (F.REFUSALS);

/** The rules that keep records whole, by `rule` of a conflict. */
export const RULES = /** @type {Record<string, string[]>} */ (F.RULES);

export const CHANGES = T.CHANGES;

export const LIVE = saying(T.LIVE, {
  more: (/** @type {number} */ n) => say(T.LIVE.more, { n }),
});

/** Usual lengths of time, in seconds and in words. */
export const lifetimes = () =>
  [3600, 86_400, 604_800, 2_592_000, 7_776_000, 31_536_000].map(
    (seconds) => /** @type {[number, string]} */ ([seconds, duration(seconds)]),
  );

/** Return names, and how many more there are. @param {readonly string[]} names @param {number} all */
export function namesOf(names, all) {
  const shown = enumerated(names);
  return all > names.length ? say(T.LIST.more, { names: shown, left: all - names.length }) : shown;
}

/** Return texts one after another, such as codes: `a, b, c`. @param {readonly string[]} texts */
export function enumerated(texts) {
  return texts.join(T.LIST.comma);
}

export const RECORD = T.RECORD;

export const RELATED = T.RELATED;

export const PREVIEW = saying(T.PREVIEW, {
  demands: (/** @type {string} */ before, /** @type {string} */ after) =>
    say(T.PREVIEW.demands, { before: before || T.PREVIEW.noDemand, after: after || T.PREVIEW.noDemand }),
  counts: (/** @type {number} */ users, /** @type {number} */ requests) =>
    say(T.PREVIEW.counts, { users, requests }),
  more: (/** @type {number} */ n) => say(T.PREVIEW.more, { n }),
  keptOut: (/** @type {number} */ users, /** @type {readonly string[]} */ names) =>
    names.length
      ? say(T.PREVIEW.keptOut, { users, names: namesOf(names, users) })
      : say(T.PREVIEW.keptOutUnnamed, { users }),
  sessions: (/** @type {number} */ n) => say(T.PREVIEW.sessions, { n }),
});
