// @ts-check
/** Calls of agents, shown so that they can't look like other calls. */
import { h } from "../../core/dom.js";
import { requestLine } from "../../parts/request-line.js";

/** Characters that are not seen, or that change the order in which others are shown. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Return a text with an escape for each character that is not seen. @param {string} text */
export function seen(text) {
  return text.replace(
    UNSEEN,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0").toUpperCase()}`,
  );
}

/** Return a call in one line, its characters in the order in which they are sent. @param {Call} call */
export function callLine({ method, path, query }) {
  return h("bdo", { dir: "ltr" }, requestLine(method, seen(query ? `${path}?${query}` : path)));
}

/** Return the body of a call as text. @param {string} body */
export function bodyText(body) {
  return h("pre", { tabindex: "0" }, h("bdo", { dir: "ltr" }, seen(body)));
}

/** @typedef {import("../../types/api").AgentApproval} Call */
