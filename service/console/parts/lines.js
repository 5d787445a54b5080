// @ts-check
/** Lines of the policy that came and went, page by page, and who gains and loses by it. */
import { badge, button, empty, h } from "../core/dom.js";
import { S } from "../strings.js";
import { trouble } from "./dialog.js";
import { side } from "./preview.js";
import { table } from "./rows.js";

const T = S.policy;
const SIZE = 100;

/** @typedef {{addedLines: string[] | null, removedLines: string[] | null, truncated: boolean}} Lines */
/** @typedef {import("../types/api").DiffCaller} Caller */

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
  const more = h("div", { class: "actions" });
  let number = 1;
  /** @param {Lines} found */
  const put = ({ addedLines, removedLines, truncated }) => {
    list.append(...(removedLines ?? []).map((line) => one("del", "−", T.removed, line)), ...(addedLines ?? []).map((line) => one("ins", "+", T.added, line)));
    more.replaceChildren(...(truncated ? [h("span", null, T.moreFollow), button(T.nextLines, next)] : []));
  };
  const next = async () => {
    try {
      put(await load({ page: number + 1, size: SIZE }));
      number += 1;
    } catch (problem) {
      more.append(trouble(problem));
    }
  };
  put(first);
  return [list, more];
}

/** The first page of lines. */
export const FIRST = { page: 1, size: SIZE };

/** @param {"ins" | "del"} tag @param {string} sign @param {string} word @param {string} line */
function one(tag, sign, word, line) {
  return h("li", null, h(tag, null, h("span", { "aria-hidden": "true" }, sign), h("span", { class: "hidden" }, word), " ", h("code", null, line)));
}

/** Return who gains and loses, by role and for every possible caller. @param {import("../types/api").Access} access */
export function access({ gains, loses, callers }) {
  const caller = (/** @type {Caller | null} */ found) => found && (found.codes.length ? found.codes.map((code) => [h("code", null, code), " "]) : badge(found.loggedIn ? T.loginCaller : T.visitorCaller));
  return h("div", { class: "impact" },
    !gains.length && !loses.length && h("p", null, S.preview.nothing),
    side(S.preview.gains, gains, "good"),
    side(S.preview.loses, loses, "bad"),
    callers.length > 0 && h("details", null, h("summary", null, T.anyCaller, ` (${callers.length})`), h("p", null, T.callerText),
      table(T.anyCaller, [T.what, T.layer, T.callerGains, T.callerLoses], callers.slice(0, 200).map((each) => [
        h("code", null, each.name), each.layer ? T.layers[each.layer] : "", caller(each.gains), caller(each.loses)]))));
}
