// @ts-check
/** Reverts an entry of the operation log: the opposite change, after its preview; or the reason why there is none. */
import { Problem } from "../client/portcullis.js";
import { bullets, button, h } from "../core/dom.js";
import { REVERT as T } from "../strings/operations.js";
import { Forest, readMenus, within } from "./menus.js";
import { attempt, saving } from "./preview.js";
import { objectOf } from "./resources.js";
import { fieldName, plain, sentence } from "./sentence.js";

/** @typedef {import("./sentence.js").Change} Change */
/**
 * A request, the name of the record that it deletes, and what it leaves as it is.
 * @typedef {{
 *   method: string, template: string, path: any, body?: any, ifMatch?: string | null,
 *   deletes?: string, stays?: string[]
 * }} Plan
 */

/** The kinds of records in the log, each with the fields that hold many values. */
const LISTS = /** @type {Record<string, string[]>} */ ({
  user: ["roles"],
  role: ["permissions", "menus"],
  resource: ["permissions"],
  service: [],
  menu: [],
  button: ["resources"],
});
const LOG = "/api/operation-log/list";
/** What has no single opposite: decided requests, reviews, restores, imports, keys and second factors. */
const NO_WAY_BACK = /^\/api\/(access-request|review|policy)\b|\/(import|keys|factors)\b/;
/** The entry that was reverted last, as long as the page is open: only the next revert can bring its change back. */
let last = 0;
/** An assignment as the log has it: `auditor until 2026-12-01T00:00:00.000Z: reason`. */
const ASSIGNMENT = /^([a-z0-9_-]+)(?: from (\S+Z))?(?: until (\S+Z))?(?:: ([^]*))?$/;

/** Return a button that reverts an entry; null where nothing was changed, or the caller may not read what. */
export function revertButton(/** @type {Page} */ page, /** @type {any} */ entry) {
  const { changeCount, dryRun, status, url } = entry;
  if (!changeCount || dryRun || status >= 400 || NO_WAY_BACK.test(url)) return null;
  if (!page.may("GET /api/operation-log/{id}")) return null;
  if (entry.id === last) return h("span", { class: "help" }, T.isReverted);
  const text = plain(sentence(entry));
  return button(T.revert, () => revert(page, entry.id, text), { "aria-label": T.revertOf({ text }) });
}

/** @param {Page} page @param {number} id @param {string} text What is reverted. */
function revert(page, id, text) {
  return attempt(T.title, async () => {
    const { data: entry } = await page.call("GET", "/api/operation-log/{id}", { path: { id } });
    const plan = await planned(page, entry);
    const { method, template, deletes, stays = [], ...options } = plan;
    await saving(page, {
      title: T.title,
      text: [h("q", null, text), ". ", deletes ? T.deletes({ name: deletes }) : T.text],
      more: () => stays.length > 0 && h("div", { class: "note warn" }, T.stays, bullets(stays, String)),
      confirm: deletes ? T.delete : T.revert,
      danger: true,
      write: async (dryRun) => {
        // The tag of a role is not about its permissions, which one request sets back with its fields.
        if (!dryRun && JSON.stringify(await planned(page, entry)) !== JSON.stringify(plan))
          throw new Problem(412, { code: "precondition_failed" });
        const answer = await page.call(method, template, { ...options, dryRun });
        // The log has a request a moment after its answer: what is shown anew has it then.
        const query = { requestId: answer.headers.get("X-Request-Id") ?? "", size: 1 };
        for (let left = dryRun || !page.may(`GET ${LOG}`) ? 0 : 12; left > 0; left -= 1) {
          if ((await page.call("GET", LOG, { query })).data.items.length > 0) break;
          await new Promise((wake) => setTimeout(wake, 250));
        }
        if (!dryRun) last = id;
        return answer;
      },
      done: T.reverted({ text }),
    });
  });
}

/**
 * Return the request that reverts an entry; throws `Problem` with the reason where there is none.
 * @param {Page} page @param {any} entry @returns {Promise<Plan>}
 */
async function planned(page, entry) {
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
  if (!Object.hasOwn(LISTS, kind)) throw refusal(T.unknown);
  const base = `/api/${kind === "button" ? "menu" : kind}`;
  const [, numbered, more] = /^\/api\/[a-z-]+\/(\d+)(\/.*)?$/.exec(entry.url) ?? [];
  if (entry.method === "DELETE" && !more) throw refusal(T.deleted);
  // The number in the path of another kind, such as a request for a role, is not that of the record.
  const id = (entry.url.startsWith(`${base}/`) && numbered) || (await idOf(page, kind, name));
  const plan = { template: `${base}/{id}`, path: { id } };
  const { data: record, etag: ifMatch } = await page.call("GET", plan.template, { path: plan.path });
  if (entry.method === "POST" && entry.url === base)
    return { ...plan, method: "DELETE", ifMatch, deletes: name };
  /** @type {string[]} */ const stays = [];
  const [first, second] = LISTS[kind].map((field) => changes.find((change) => change.field === field));
  const others = changes.filter((change) => change !== first && change !== second);
  const fields = ofFields(others, record, stays);
  const alone = Object.keys(fields).length === 0;
  /** @type {Plan | {body: any} | undefined} */ let list;
  if (kind === "role" && (first || second)) list = await ofMenus(page, id, first, second, stays);
  else if (first && kind === "user") list = await ofRoles(page, record, first, alone, stays);
  else if (first && !alone) throw refusal(T.several);
  else if (first) list = await ofValues(page, id, first, kind === "button");
  if (list && "template" in list && alone) return { ...list, stays };
  if (!list && alone) throw refusal(stays[0] ?? T.unknown);
  return { ...plan, method: "PATCH", body: { ...fields, ...list?.body }, ifMatch, stays };
}

/**
 * Return the values of fields before a change. Add to `stays` those that have changed since, and what the record does
 * not have, such as the suspension of its request rule.
 * @param {Change[]} changes @param {any} record @param {string[]} stays
 */
function ofFields(changes, record, stays) {
  const returns = changes.filter(({ field, after }) => {
    const known = Object.hasOwn(record, field);
    if (known && JSON.stringify(record[field]) === JSON.stringify(after ?? null)) return true;
    stays.push((known ? T.changedSince : T.elsewhere)({ field: fieldName(field) }));
    return false;
  });
  return Object.fromEntries(returns.map(({ field, before }) => [field, before ?? null]));
}

/**
 * Return the request that sets the Buttons and Menus of a role back. Add to `stays` those whose name several have, and
 * Menus above Buttons that stay.
 * @param {Page} page @param {string} id @param {Change | undefined} permissions @param {Change | undefined} menus
 * @param {string[]} stays @returns {Promise<Plan>}
 */
async function ofMenus(page, id, permissions, menus, stays) {
  const template = "/api/role/{id}/permissions";
  const { data, etag } = await page.call("GET", template, { path: { id } });
  const places = [...new Forest(await readMenus(page)).places.values()];
  /** @type {Set<number>} */ const ids = new Set(data.menuIds);
  for (const side of /** @type {const} */ (["after", "before"])) {
    const given = side === "after";
    const titles = (menus?.[side] ?? []).map((/** @type {string} */ title) => `menu:${title}`);
    for (const [name, { length }] of Map.groupBy([...(permissions?.[side] ?? []), ...titles], String)) {
      const named = places.filter(({ menu }) => (menu.authMark ?? `menu:${menu.title}`) === name);
      const left = named.filter(({ menu }) => ids.has(menu.id) === given);
      const needed = left.some((place) =>
        [...within(place)].some(({ menu }) => menu.authMark && menu !== place.menu && ids.has(menu.id)),
      );
      if (left.length > length || (given ? needed : named.length === 0))
        stays.push((needed ? T.needed : T.ambiguous)({ name: name.replace(/^menu:/, "") }));
      else for (const { menu } of left) ids[given ? "delete" : "add"](menu.id);
    }
  }
  return { method: "PUT", template, path: { id }, body: { menuIds: [...ids] }, ifMatch: etag };
}

/**
 * Return the request that swaps the resources of a Button, or the Buttons of a resource, back.
 * @param {Page} page @param {string} id @param {Change} change @param {boolean} isButton @returns {Promise<Plan>}
 */
async function ofValues(page, id, { before, after }, isButton) {
  const template = isButton ? "/api/menu/{id}/resources" : "/api/resource/{id}/buttons";
  const answer = await page.call("GET", template, { path: { id } });
  const { resources, codes } = /** @type {any} */ (answer.data);
  const back = isButton
    ? await Promise.all(before.map((/** @type {string} */ name) => idOf(page, "resource", name)))
    : before;
  const kept = (isButton ? resources : codes).flatMap((/** @type {any} */ each) =>
    after.includes(isButton ? objectOf(each) : each) ? [] : (each.id ?? each),
  );
  const body = { [isButton ? "resourceIds" : "codes"]: [...new Set([...kept, ...back])] };
  return { method: "PUT", template, path: { id }, body, ifMatch: answer.etag };
}

/**
 * Give back a role that was taken, take one that was given, or set the times that an assignment had before. Of several
 * roles, or with other values, return all roles of the user; add to `stays` those with times.
 * @param {Page} page @param {any} user @param {Change} change @param {boolean} alone @param {string[]} stays
 * @returns {Promise<Plan | {body: any}>}
 */
async function ofRoles(page, { id, roles }, { before, after }, alone, stays) {
  const [takes, gives] = [before, after].map((/** @type {string[]} */ texts) =>
    texts.map((text) => {
      const [, roleCode, from = null, until = null, reason = null] = ASSIGNMENT.exec(text) ?? ["", text];
      return { roleCode, from, until, reason };
    }),
  );
  const [[taken], [given]] = [takes, gives];
  const codes = new Set(gives.map(({ roleCode }) => roleCode));
  if (!alone || Math.max(takes.length, gives.length) > 1 || (taken && given && !codes.has(taken.roleCode))) {
    const roleIds = new Set(
      roles.flatMap((/** @type {any} */ role) => (codes.has(role.roleCode) ? [] : role.id)),
    );
    for (const { roleCode, from, until } of takes) {
      if (from || until) stays.push(T.elsewhere({ field: roleCode }));
      else roleIds.add(await idOf(page, "role", roleCode));
    }
    return { body: { roleIds: [...roleIds] } };
  }
  if (!given) {
    const body = Object.fromEntries(Object.entries(taken).filter(([, value]) => value));
    return { method: "POST", template: "/api/user/{id}/roles", path: { id }, body };
  }
  const query = { size: 200 };
  const { data } = await page.call("GET", "/api/user/{id}/roles", { path: { id }, query });
  const same = data.items.find(
    ({ roleCode, from, until }) =>
      roleCode === given.roleCode && [null, until].includes(given.until) && [null, from].includes(given.from),
  );
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

/**
 * Return the id of a record by its name in the log; throws `Problem` if there is none any more.
 * @param {Page} page @param {string} kind @param {string} name
 */
async function idOf(page, kind, name) {
  const finds = /** @type {Record<string, [field: string, value: string, key: (each: any) => string]>} */ ({
    user: ["userName", name, (each) => each.userName],
    role: ["roleCode", name, (each) => each.roleCode],
    service: ["name", name, (each) => each.name],
    resource: ["path", name.split(" ").at(-1) ?? "", objectOf],
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
