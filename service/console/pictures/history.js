// @ts-check
/** Revisions of the policy, and changes of rights and of records, on one axis of time. */
import { h } from "../core/dom.js";
import { filled } from "../parts/block.js";
import { withChanges } from "../parts/logs.js";
import { plain, sentence } from "../parts/sentence.js";
import { HISTORY as T } from "../strings/pictures.js";
import { SIGN_OFFS } from "../strings/sign-offs.js";
import { axis } from "./axis.js";

/** Days that are shown where the reader has chosen no time. */
const DAYS = 30;
/** The most events of a kind: the newest. */
const MOST = 200;
/** Return what kind of rights a change is of, by the record that it changes first. @param {string} record */
const rightsOf = (record) =>
  record === "role" ? "gives" : ["user", "key", "factor", "review"].includes(record) ? "given" : "binds";

/** @typedef {{title: string, kind: string, events: import("./axis.js").Event[]}} Kind */

/**
 * Return what was changed in the span of the address, or in the last days. Changes are those of the operation log: they
 * are left out for callers who may not read it.
 * @param {Page} page
 */
export function history(page) {
  const from = page.query.get("from") ?? new Date(Date.now() - DAYS * 86_400_000).toISOString();
  const span = { from, to: page.query.get("to") ?? undefined };
  return drawn(page, T.name, T.nothing, async () => {
    if (!page.may("GET /api/operation-log/list")) return revisions(page, span);
    const [published, rights, ...others] = await Promise.all([
      revisions(page, span),
      entries(page, { ...span, rights: true }),
      entries(page, { ...span, rights: false, module: "user" }),
      entries(page, { ...span, rights: false, module: "role" }),
    ]);
    const of = (/** @type {string} */ which) =>
      rights.filter(({ targets }) => rightsOf((targets?.[0] ?? "").split(":")[0]) === which);
    return [
      ...published,
      { title: T.rights.given, kind: "info", events: events(page, of("given")) },
      { title: T.rights.gives, kind: "info", events: events(page, of("gives")) },
      { title: T.rights.binds, kind: "info", events: events(page, of("binds")) },
      { title: T.others, kind: "warn", events: events(page, others.flat()) },
    ];
  });
}

/**
 * Return what was changed of one record: its rights alone, and everything else.
 * @param {Page} page
 * @param {string} target Its name in the log, such as `role:clerk`.
 * @param {string} from When it was created.
 */
export function recordHistory(page, target, from) {
  return drawn(page, T.nameOf({ target }), null, async () => {
    const [rights, others] = await Promise.all(
      [true, false].map((given) => entries(page, { target, from, rights: given })),
    );
    return [
      { title: T.ofRights, kind: "info", events: events(page, rights) },
      { title: T.otherwise, kind: "warn", events: events(page, others) },
    ];
  });
}

/**
 * Return the axis once its events are there; kinds without any are left out.
 * @param {Page} page
 * @param {string} name
 * @param {string | null} nothing What stands there without an event.
 * @param {() => Promise<Kind[]>} read
 */
function drawn(page, name, nothing, read) {
  return filled(page, async () => {
    const kinds = (await read()).filter(({ events: some }) => some.length > 0);
    return kinds.length > 0 ? axis(name, kinds) : nothing && h("p", null, nothing);
  });
}

/**
 * Return the revisions of a span, and the sign-offs of these.
 * @param {Page} page @param {{from: string, to?: string}} span @returns {Promise<Kind[]>}
 */
async function revisions(page, span) {
  const { data } = await page.call("GET", "/api/policy/revisions", { query: { ...span, size: MOST } });
  const published = data.items.map(({ revision, createTime, cause, causeCode, userName }) => ({
    at: createTime,
    text: T.revision(revision, cause, causeCode === "cause_by" ? null : userName),
    href: `/policy/revisions/${revision}`,
  }));
  const signed = data.items
    .flatMap(({ signOffs }) => signOffs)
    .map(({ revision, title, userName, createTime }) => ({
      at: createTime,
      text: SIGN_OFFS.event({ revision, title, by: userName }),
      href: `/policy/revisions/${revision}`,
    }));
  return [
    { title: T.revisions, kind: "good", events: published },
    { title: SIGN_OFFS.kind, kind: "info", events: signed },
  ];
}

/**
 * Read the calls that have changed something.
 * @param {Page} page
 * @param {{from?: string, to?: string, rights: boolean, module?: string, target?: string}} query
 */
async function entries(page, query) {
  const { data } = await page.call("GET", "/api/operation-log/list", {
    query: {
      ...query,
      kind: ["INSERT", "UPDATE", "DELETE", "IMPORT"],
      status: ["2xx"],
      dryRun: false,
      size: MOST,
    },
  });
  return (await withChanges(page, { items: data.items.filter(({ changeCount }) => changeCount) })).items;
}

/** @param {Page} page @param {any[]} items @returns {import("./axis.js").Event[]} */
function events(page, items) {
  return items.map((entry) => ({
    at: entry.createTime,
    text: plain(sentence(entry)),
    href: page.may("GET /api/operation-log/{id}") ? `/logs/operations/${entry.id}` : null,
  }));
}
