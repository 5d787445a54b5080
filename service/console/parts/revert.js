// @ts-check
/** Reverts an entry of the operation log: the opposite change, after its preview; or the reason why there is none. */
import { Problem } from "../client/portcullis.js";
import { button, h } from "../core/dom.js";
import { REVERT as T } from "../strings/operations.js";
import { tell } from "./dialog.js";
import { attempt, previewed } from "./preview.js";
import { plain, sentence } from "./sentence.js";

/** @typedef {import("./sentence.js").Change} Change */
/**
 * A request, and the name of the record that it deletes.
 * @typedef {{
 *   method: string, template: string, path: any, body?: any, ifMatch?: string | null, deletes?: string
 * }} Plan
 */

/** The kinds of records in the log, each with its paths in the API. */
const KINDS = ["user", "role", "resource", "service", "menu", "button"];
/** What records hold many of: the field of the log, the path, and the member of the request. */
const LISTS = /** @type {Record<string, [field: string, template: string, member: string]>} */ ({
  role: ["permissions", "/api/role/{id}/permissions", "permissions"],
  resource: ["permissions", "/api/resource/{id}/buttons", "codes"],
  button: ["resources", "/api/menu/{id}/resources", "resourceIds"],
});
/** What has no single opposite: decided requests, reviews, restores and imports. */
const NO_WAY_BACK = /^\/api\/(access-request|review|policy)\b|\/import$/;
/** An assignment as the log has it: `auditor until 2026-12-01T00:00:00.000Z: reason`. */
const ASSIGNMENT = /^([a-z0-9_-]+)(?: from (\S+Z))?(?: until (\S+Z))?(?:: ([^]*))?$/;

/** Return a button that reverts an entry; null where nothing was changed, or the caller may not read what. */
export function revertButton(/** @type {Page} */ page, /** @type {any} */ entry) {
  const { changeCount, dryRun, status, url } = entry;
  if (!changeCount || dryRun || status >= 400 || NO_WAY_BACK.test(url)) return null;
  if (!page.may("GET /api/operation-log/{id}")) return null;
  const text = plain(sentence(entry));
  return button(T.revert, () => revert(page, entry.id, text), { "aria-label": T.revertOf({ text }) });
}

/** @param {Page} page @param {number} id @param {string} text What is reverted. */
function revert(page, id, text) {
  return attempt(T.title, async () => {
    const { data: entry } = await page.call("GET", "/api/operation-log/{id}", { path: { id } });
    const { method, template, deletes, ...options } = await planned(page, entry);
    const done = await previewed({
      title: T.title,
      text: [h("q", null, text), " ", deletes ? T.deletes({ name: deletes }) : T.text],
      confirm: deletes ? T.delete : T.revert,
      danger: true,
      write: (dryRun) => page.call(method, template, { ...options, dryRun }),
    });
    if (!done) return;
    tell(T.reverted({ text }));
    await page.reload();
  });
}

/** Return the request that reverts an entry; throws `Problem` with the reason where there is none. */
async function planned(/** @type {Page} */ page, /** @type {any} */ entry) {
  const changes = /** @type {Change[]} */ (entry.changes ?? []);
  const targets = new Set(changes.map(({ target }) => target));
  if (targets.size !== 1 || changes.length < entry.changeCount) throw refusal(T.several);
  const cut = changes.some(({ before, after, removed = 0, added = 0 }) => {
    return removed > (before?.length ?? 0) || added > (after?.length ?? 0);
  });
  if (cut) throw refusal(T.cut);
  const [target] = targets;
  const kind = target.slice(0, target.indexOf(":"));
  const name = target.slice(kind.length + 1);
  if (!KINDS.includes(kind)) throw refusal(T.unknown);
  const base = `/api/${kind === "button" ? "menu" : kind}`;
  const [, numbered, more] = /^\/api\/[a-z-]+\/(\d+)(\/.*)?$/.exec(entry.url) ?? [];
  if (entry.method === "DELETE" && !more) throw refusal(T.deleted);
  // The number in the path of another kind, such as a request for a role, is not that of the record.
  const id = (entry.url.startsWith(`${base}/`) && numbered) || (await idOf(page, kind, name));
  const plan = { template: `${base}/{id}`, path: { id } };
  const record = await page.call("GET", plan.template, { path: plan.path });
  if (entry.method === "POST" && entry.url === base)
    return { ...plan, method: "DELETE", ifMatch: record.etag, deletes: name };
  const values = LISTS[kind];
  const listed = changes.find(({ field }) => field === (values?.[0] ?? "roles"));
  const fields = changes.filter((change) => change !== listed && change.field !== "menus");
  if (listed && fields.length > 0) throw refusal(T.several);
  if (listed && values) return ofValues(page, id, listed, values[1], values[2]);
  if (listed) return ofRoles(page, id, listed);
  return { ...plan, method: "PATCH", body: ofFields(fields, record.data), ifMatch: record.etag };
}

/**
 * Return the values of fields before a change; throws `Problem` if one of them has changed since.
 * @param {Change[]} changes @param {any} record
 */
function ofFields(changes, record) {
  for (const { field, after } of changes) {
    if (!Object.hasOwn(record, field)) throw refusal(T.unknown);
    if (JSON.stringify(record[field]) !== JSON.stringify(after ?? null))
      throw refusal(T.changedSince({ field }));
  }
  if (changes.length === 0) throw refusal(T.unknown);
  return Object.fromEntries(changes.map(({ field, before }) => [field, before ?? null]));
}

/**
 * Return the request that swaps the codes or the resources of a record back.
 * @param {Page} page @param {string} id @param {Change} change @param {string} template @param {string} member
 * @returns {Promise<Plan>}
 */
async function ofValues(page, id, change, template, member) {
  const { data, etag } = await page.call("GET", template, { path: { id } });
  const known = new Map(
    (data.resources ?? data[member]).map((/** @type {any} */ each) =>
      data.resources ? [requestOf(each), each.id] : [each, each],
    ),
  );
  const names = new Set([...known.keys()].filter((value) => !change.after?.includes(value)));
  for (const value of change.before ?? []) names.add(value);
  const idOrCode = (/** @type {any} */ name) =>
    known.get(name) ?? (data.resources ? idOf(page, "resource", name) : name);
  const body = { [member]: await Promise.all([...names].map(idOrCode)) };
  return { method: "PUT", template, path: { id }, body, ifMatch: etag };
}

/**
 * Give back a role that was taken, take one that was given, or set the times that an assignment had before.
 * @param {Page} page @param {string} id @param {Change} change @returns {Promise<Plan>}
 */
async function ofRoles(page, id, { before, after }) {
  const [[taken, ...others], [given, ...more]] = [before ?? [], after ?? []].map((texts) =>
    texts.map(assignmentOf),
  );
  const swapped = taken && given && taken.roleCode !== given.roleCode;
  if (others.length > 0 || more.length > 0 || swapped) throw refusal(T.several);
  if (!given) {
    const body = Object.fromEntries(Object.entries(taken).filter(([, value]) => value));
    return { method: "POST", template: "/api/user/{id}/roles", path: { id }, body };
  }
  const query = { size: 200 };
  const { data } = await page.call("GET", "/api/user/{id}/roles", { path: { id }, query });
  const same = data.items.find((/** @type {any} */ { roleCode, from, until }) => {
    return (
      roleCode === given.roleCode &&
      (!given.until || until === given.until) &&
      (!given.from || from === given.from)
    );
  });
  if (!same) throw refusal(T.changedSince({ field: given.roleCode }));
  const plan = {
    template: "/api/user/{id}/roles/{assignmentId}",
    path: { id, assignmentId: same.id },
    ifMatch: `"${same.version}"`,
  };
  if (!taken) return { ...plan, method: "DELETE" };
  const { from, until, reason } = taken;
  return { ...plan, method: "PATCH", body: { ...(from !== given.from && { from }), until, reason } };
}

/** @param {string} text */
function assignmentOf(text) {
  const [, roleCode, from = null, until = null, reason = null] = ASSIGNMENT.exec(text) ?? ["", text];
  return { roleCode, from, until, reason };
}

/** @param {{service: string, method: string, path: string}} resource */
function requestOf({ service, method, path }) {
  return service === "portcullis" ? `${method} ${path}` : `${service} ${method} ${path}`;
}

/**
 * Return the id of a record by its name in the log; throws `Problem` if there is none any more.
 * @param {Page} page @param {string} kind @param {string} name
 */
async function idOf(page, kind, name) {
  const finds = /** @type {Record<string, [field: string, value: string, key: (each: any) => string]>} */ ({
    user: ["userName", name, (each) => each.userName],
    role: ["roleCode", name, (each) => each.roleCode],
    service: ["name", name, (each) => each.name],
    resource: ["path", name.split(" ").at(-1) ?? "", requestOf],
  });
  if (!finds[kind]) throw refusal(T.unknown);
  const [field, value, key] = finds[kind];
  const query = { [field]: value, size: 200 };
  const { data } = await page.call("GET", `/api/${kind}/list`, { query });
  const record = data.items.find((/** @type {any} */ each) => key(each) === name);
  if (!record) throw refusal(T.gone({ name }));
  return record.id;
}

/** @param {string} detail Why an entry can't be reverted. */
function refusal(detail) {
  return new Problem(409, { code: "not_reverted", detail });
}
