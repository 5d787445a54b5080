// @ts-check
/** What the views of the logs share. */
import { badge, h } from "../core/dom.js";

/** Return the status of a call, and the code of a refusal. @param {any} one */
export function outcome(one) {
  const kind = one.status >= 500 ? "bad" : one.status >= 400 ? "warn" : "good";
  return [badge(String(one.status), kind), one.error && h("small", { class: "under" }, one.error)];
}

/** Return the address of the view that explains the decision of an entry. @param {any} one */
export function explainAddress(one) {
  const { userName, method, url: path, decisionId, policyRevision: revision } = one;
  const known = Object.entries({ userName, method, path, decisionId, revision }).filter(([, value]) => value !== null && value !== undefined);
  return `/policy/explain?${new URLSearchParams(known.map(([name, value]) => [name, String(value)]))}`;
}
