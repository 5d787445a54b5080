// @ts-check
/** What the views of the logs share. */
import { badge, h } from "../core/dom.js";
import { S } from "../strings.js";

/** Return the status of a call, and the code of a refusal. @param {any} one */
export function outcome(one) {
  const kind = one.status >= 500 ? "bad" : one.status >= 400 ? "warn" : "good";
  return [badge(String(one.status), kind), one.error && h("small", { class: "under" }, one.error)];
}

/** Return how many refused reads an entry stands for, nothing for that of one call. @param {any} one */
export function repeated(one) {
  return one.repetitions !== null && ` ${S.operations.times(one.repetitions)}`;
}

/**
 * Return the address of the view that explains the decision of an entry; a refusal is found by its id.
 * @param {any} one
 */
export function explainAddress(one) {
  const { userName, method, url: path, decision, decisionId, policyRevision: revision } = one;
  if (decision === "deny") return `/policy/explain?${new URLSearchParams({ decisionId })}`;
  const known = Object.entries({ userName, method, path, decisionId, revision }).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  return `/policy/explain?${new URLSearchParams(known.map(([name, value]) => [name, String(value)]))}`;
}

/** Return the columns of what has happened to sessions. @returns {import("./table.js").Column[]} */
export function sessionEvents() {
  const T = S.logins;
  return [
    { title: T.event, cell: (one) => T.events[one.event] ?? one.event },
    {
      title: T.outcome,
      cell: (one) =>
        badge(T.outcomes[one.outcome] ?? one.outcome, one.outcome === "success" ? "good" : "bad"),
    },
    { title: T.reason, cell: (one) => one.reason },
    { title: T.device, cell: (one) => one.device },
    { title: T.address, cell: (one) => one.loginIp },
    { title: T.browser, cell: (one) => [one.browser, one.os].filter(Boolean).join(", ") },
  ];
}
