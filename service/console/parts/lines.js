// @ts-check
/** Lines of the policy that came and went, page by page, and who gains and loses by it. */
import { actions, badge, button, empty, h } from "../core/dom.js";
import { shownNumber } from "../core/locale.js";
import { PREVIEW } from "../strings/common.js";
import { POLICY as T } from "../strings/policy.js";
import { trouble } from "./trouble.js";
import { side } from "./preview.js";
import { table } from "./rows.js";

const SIZE = 100;
/** How many roles, and requests of each, are read at a time. */
export const ENTRIES = 25;

/** @typedef {{addedLines: string[] | null, removedLines: string[] | null, truncated: boolean}} Lines */
/** @typedef {import("../types/api").DiffCaller} Caller */
/** @typedef {import("../types/api").DifferingRequest} DifferingRequest */
/** @typedef {import("../types/api").Access} Access */

/**
 * Return the lines that came and went; a button reads the next ones.
 * @param {(query: {page: number, size: number}) => Promise<Lines>} load
 * @param {Lines} first The first page, of 100 lines of each kind.
 * @param {string} nothing What to say where no line differs.
 */
export function lines(load, first, nothing) {
  if (first.addedLines === null || first.removedLines === null) return empty(T.notKept);
  if (!first.addedLines.length && !first.removedLines.length) return empty(nothing);
  const list = h("ul", { class: "diff", "aria-label": T.diffCaption });
  /** @param {Lines} page */
  const put = ({ addedLines, removedLines, truncated }) => {
    list.append(
      ...(removedLines ?? []).map((line) => entry("del", "−", T.removed, line)),
      ...(addedLines ?? []).map((line) => entry("ins", "+", T.added, line)),
    );
    return truncated;
  };
  return [list, pages(T.moreFollow, T.nextLines, (page) => load({ page, size: SIZE }), put, first)];
}

/**
 * Show the first page; return what reads the next ones, while more follow.
 * @template T
 * @param {string} text @param {string} act
 * @param {(number: number) => Promise<T>} load
 * @param {(page: T, number: number) => boolean} put Shows a page, and returns whether more follow.
 * @param {T} first
 */
function pages(text, act, load, put, first) {
  const more = actions();
  let number = 1;
  const show = (/** @type {T} */ page) =>
    more.replaceChildren(...(put(page, number) ? [h("span", null, text), button(act, next)] : []));
  const next = async () => {
    try {
      const page = await load(number + 1);
      number += 1;
      show(page);
    } catch (problem) {
      more.append(trouble(problem));
    }
  };
  show(first);
  return more;
}

/** The first page of lines. */
export const FIRST = { page: 1, size: SIZE };

/** @param {"ins" | "del"} tag @param {string} sign @param {string} word @param {string} line */
function entry(tag, sign, word, line) {
  return h(
    "li",
    null,
    h(
      tag,
      null,
      h("span", { "aria-hidden": "true" }, sign),
      h("span", { class: "hidden" }, word),
      " ",
      h("code", null, line),
    ),
  );
}

/**
 * Return who gains and loses, by role and for every possible caller; a button reads the next ones.
 * @param {(query: {page: number, accessSize: number}) => Promise<Access>} load
 */
export async function access(load) {
  const first = await load({ page: 1, accessSize: ENTRIES });
  const most = Math.max(...Object.values(first.totals));
  const shown = h(
    "div",
    { class: "impact" },
    !first.totals.gains && !first.totals.loses && h("p", null, PREVIEW.nothing),
  );
  /** @param {Access} page @param {number} number */
  const put = ({ gains, loses, callers }, number) => {
    const parts = [
      side(PREVIEW.gains, gains, "good"),
      side(PREVIEW.loses, loses, "bad"),
      callers.length > 0 && possible(callers, first.totals.callers),
    ];
    for (const part of parts) if (part) merge(shown, part);
    return number * ENTRIES < most;
  };
  const read = (/** @type {number} */ page) => load({ page, accessSize: ENTRIES });
  return h("div", null, shown, pages(T.moreEntries, T.nextEntries, read, put, first));
}

/**
 * Add a part to what is shown; where its kind is there already, only its entries.
 * @param {HTMLElement} shown
 * @param {HTMLElement} part
 */
function merge(shown, part) {
  const there = [...shown.children].find(
    (child) => child.className === part.className && child.tagName === part.tagName,
  );
  if (!there) shown.append(part);
  else if (part instanceof HTMLDetailsElement)
    there.querySelector("tbody")?.append(...part.querySelectorAll("tbody tr"));
  else there.append(...part.querySelectorAll(":scope > details"));
}

/** Return for which possible callers requests differ. @param {DifferingRequest[]} callers @param {number} total */
function possible(callers, total) {
  const caller = (/** @type {Caller | null} */ who) =>
    who &&
    (who.codes.length
      ? who.codes.map((code) => [h("code", null, code), " "])
      : badge(who.loggedIn ? T.loginCaller : T.visitorCaller));
  return h(
    "details",
    { class: "possible" },
    h("summary", null, T.anyCaller, ` (${shownNumber(total)})`),
    h("p", null, T.callerText),
    table(
      T.anyCaller,
      [T.what, T.layer, T.callerGains, T.callerLoses],
      callers.map((each) => [
        h("code", null, each.name),
        each.layer ? T.layers[each.layer] : "",
        caller(each.gains),
        caller(each.loses),
      ]),
    ),
  );
}
