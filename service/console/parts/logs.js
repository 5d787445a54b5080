// @ts-check
/** What the views of the logs share. */
import { badge, h, link } from "../core/dom.js";
import { LOGINS } from "../strings/account.js";
import { OPERATIONS } from "../strings/operations.js";
import { plain, sentence, sessionSentence } from "./sentence.js";
import { time } from "./time.js";
import { enumerated } from "../strings/common.js";

/** The most entries whose changes are read by one request. */
const AT_ONCE = 100;

/** What a record is in the path of a request, by its kind in the log, and its page. */
const PAGES = /** @type {Record<string, [segments: string[], page: string]>} */ ({
  user: [["user", "online"], "/users"],
  role: [["role"], "/roles"],
  resource: [["resource"], "/resources"],
  service: [["service"], "/services"],
  menu: [["menu"], "/menus"],
  button: [["menu"], "/menus"],
});

/** Return what is unusual about the outcome of a call, nothing for a success. @param {any} entry */
export function outcome({ status, error, decision }) {
  if (status < 400) return null;
  const text = [status, error].filter(Boolean).join(" ");
  const [shown, kind] =
    decision === "deny" ? [OPERATIONS.decisions.deny, "bad"] : [text, status >= 500 ? "bad" : "warn"];
  return h("span", { class: "tight", title: text }, badge(shown, kind));
}

/**
 * Read what entries have changed, for callers who may, so that their sentences can tell.
 * @param {Page} page
 * @param {{items: any[]}} data A page of the operation log.
 */
export async function withChanges(page, data) {
  const ids = data.items.filter(({ changeCount }) => changeCount).map(({ id }) => id);
  if (ids.length === 0 || !page.may("GET /api/operation-log/changes")) return data;
  const batches = Array.from({ length: Math.ceil(ids.length / AT_ONCE) }, (_, place) =>
    ids.slice(place * AT_ONCE, (place + 1) * AT_ONCE),
  );
  try {
    const answers = await Promise.all(
      batches.map((batch) => page.call("GET", "/api/operation-log/changes", { query: { ids: batch } })),
    );
    const known = new Map(
      answers.flatMap((answer) => answer.data.items).map(({ id, changes }) => [id, changes]),
    );
    return { ...data, items: data.items.map((entry) => ({ ...entry, changes: known.get(entry.id) })) };
  } catch (problem) {
    if (page.signal.aborted) throw problem;
    return data; // the sentences say less
  }
}

/**
 * Return a sentence in one line, with links to the user who acted and to the record; where there is no room for all of
 * it, it shows when pointed at, as does the entry.
 * @param {Page} page
 * @param {any} entry
 * @param {import("./sentence.js").Word[]} [words]
 */
export function inWords(page, entry, words = sentence(entry)) {
  return h(
    "span",
    { class: "sentence", title: plain(words) },
    words.map((word) => {
      if (typeof word === "string") return word;
      const address = "actor" in word ? actorAddress(page, entry) : recordAddress(page, entry, word.target);
      return address ? link(address, word.text) : word.text;
    }),
  );
}

/** @param {Page} page @param {any} entry */
function actorAddress(page, { userId }) {
  return userId !== null && page.may("GET /api/user/{id}") ? `/users/${userId}` : null;
}

/**
 * Return the address of a record, whose id only the path of the request has; null where it has none, or where the
 * record is deleted.
 * @param {Page} page
 * @param {any} entry
 * @param {string} target
 */
function recordAddress(page, { url, method, status, targets, dryRun }, target) {
  const [, name, id, more] = /^\/api\/([a-z-]+)\/(\d+)(\/.*)?$/.exec(url) ?? [];
  const [segments, place] = PAGES[target.slice(0, target.indexOf(":"))] ?? [[], ""];
  const gone = method === "DELETE" && !more && name !== "online" && status < 400 && !dryRun;
  if (!segments.includes(name) || gone || (targets?.length ?? 0) > 1) return null;
  return page.may(`GET /api/${segments[0]}/{id}`) ? `${place}/${id}` : null;
}

/** Return how many refused reads an entry stands for, nothing for that of one call. @param {any} entry */
export function repeated(entry) {
  return entry.repetitions !== null && ` ${OPERATIONS.times({ n: entry.repetitions })}`;
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

/** Return the columns of the operation log. @param {Page} page @returns {import("./table.js").Column[]} */
export function operationColumns(page) {
  const T = OPERATIONS;
  return [
    { title: T.time, cell: (entry) => time(entry.createTime, { seconds: true }) },
    { title: T.what, kind: "line", cell: (entry) => h("div", null, inWords(page, entry), repeated(entry)) },
    { title: T.outcome, cell: outcome },
  ];
}

/**
 * Return the columns of what has happened to sessions.
 * @param {Page} page
 * @returns {import("./table.js").Column[]}
 */
export function sessionEvents(page) {
  const T = LOGINS;
  return [
    { title: T.time, cell: (entry) => time(entry.createTime, { seconds: true }) },
    { title: T.event, kind: "line", cell: (entry) => inWords(page, entry, sessionSentence(entry)) },
    {
      title: T.outcome,
      cell: (entry) =>
        entry.outcome !== "success" && badge(T.outcomes[entry.outcome] ?? entry.outcome, "bad"),
    },
    { title: T.address, cell: (entry) => entry.loginIp },
    { title: T.browser, cell: (entry) => enumerated([entry.browser, entry.os]) },
  ];
}
