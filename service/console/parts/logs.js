// @ts-check
/** What the views of the logs share. */
import { badge, h } from "../core/dom.js";
import { LOGINS } from "../strings/account.js";
import { OPERATIONS } from "../strings/operations.js";
import { time } from "./time.js";

/** Return the status of a call, and the code of a refusal. @param {any} entry */
export function outcome(entry) {
  const kind = entry.status >= 500 ? "bad" : entry.status >= 400 ? "warn" : "good";
  return [badge(String(entry.status), kind), entry.error && h("small", { class: "under" }, entry.error)];
}

/** Return how many refused reads an entry stands for, nothing for that of one call. @param {any} entry */
export function repeated(entry) {
  return entry.repetitions !== null && ` ${OPERATIONS.times(entry.repetitions)}`;
}

/**
 * Return the address of the view that explains the decision of an entry; a refusal is found by its id.
 * @param {any} entry
 */
export function explainAddress(entry) {
  const { userName, method, url: path, decision, decisionId, policyRevision: revision } = entry;
  if (decision === "deny") return `/policy/explain?${new URLSearchParams({ decisionId })}`;
  const known = Object.entries({ userName, method, path, decisionId, revision }).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  return `/policy/explain?${new URLSearchParams(known.map(([name, value]) => [name, String(value)]))}`;
}

/** Return the columns of the operation log. @returns {import("./table.js").Column[]} */
export function operationColumns() {
  const T = OPERATIONS;
  return [
    { title: T.time, cell: (entry) => time(entry.createTime) },
    { title: T.user, cell: (entry) => entry.userName ?? T.nobody },
    {
      title: T.what,
      cell: (entry) =>
        h(
          "span",
          null,
          `${entry.module} ${entry.action}`,
          repeated(entry),
          entry.dryRun && [" ", badge(T.preview)],
          h("small", { class: "under" }, `${entry.method} ${entry.url}`),
        ),
    },
    { title: T.targets, cell: (entry) => entry.targets?.slice(0, 3).join(", ") },
    { title: T.outcome, cell: outcome },
    { title: T.changes, kind: "number", cell: (entry) => entry.changeCount },
    {
      title: T.decision,
      cell: (entry) =>
        entry.decision &&
        badge(T.decisions[entry.decision] ?? entry.decision, entry.decision === "deny" ? "bad" : "good"),
    },
  ];
}

/** Return the columns of what has happened to sessions. @returns {import("./table.js").Column[]} */
export function sessionEvents() {
  const T = LOGINS;
  return [
    { title: T.event, cell: (entry) => T.events[entry.event] ?? entry.event },
    {
      title: T.outcome,
      cell: (entry) =>
        badge(T.outcomes[entry.outcome] ?? entry.outcome, entry.outcome === "success" ? "good" : "bad"),
    },
    { title: T.reason, cell: (entry) => entry.reason },
    { title: T.device, cell: (entry) => entry.device },
    { title: T.address, cell: (entry) => entry.loginIp },
    { title: T.browser, cell: (entry) => [entry.browser, entry.os].filter(Boolean).join(", ") },
  ];
}
