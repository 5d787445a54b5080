// @ts-check
/** Revisions of the policy, and changes of users and roles, on one axis of time. */
import { h } from "../core/dom.js";
import { trouble } from "../parts/trouble.js";
import { FRAME } from "../strings/frame.js";
import { HISTORY as T } from "../strings/pictures.js";
import { axis } from "./axis.js";

/** Days that are shown where the reader has chosen no time. */
const DAYS = 30;
/** The most events of a kind: the newest. */
const MOST = 200;

/** @typedef {import("../core/page.js").Page} Page */

/**
 * Return what was changed in the span of the address, or in the last days. Changes of users and roles are those of the
 * operation log: they are left out for callers who may not read it.
 * @param {Page} page
 */
export function history(page) {
  const place = h("div", null, h("p", { class: "loading", role: "status" }, FRAME.loading));
  const from = page.query.get("from") ?? new Date(Date.now() - DAYS * 86_400_000).toISOString();
  const span = { from, to: page.query.get("to") ?? undefined };
  const load = async () => {
    try {
      const logs = page.may("GET /api/operation-log/list");
      const kinds = await Promise.all([
        revisions(page, span),
        ...(logs ? [entries(page, span, "user", "info"), entries(page, span, "role", "warn")] : []),
      ]);
      const some = kinds.some(({ events }) => events.length > 0);
      place.replaceChildren(some ? axis(T.name, kinds) : h("p", null, T.nothing));
    } catch (problem) {
      if (!page.signal.aborted) place.replaceChildren(trouble(problem, load));
    }
  };
  page.during(load());
  return place;
}

/** @param {Page} page @param {{from: string, to?: string}} span */
async function revisions(page, span) {
  const { data } = await page.call("GET", "/api/policy/revisions", { query: { ...span, size: MOST } });
  const events = data.items.map(({ revision, createTime, cause, userName }) => ({
    at: createTime,
    text: T.revision(revision, cause, userName),
    href: `/policy/revisions/${revision}`,
  }));
  return { title: T.revisions, kind: "good", events };
}

/**
 * @param {Page} page @param {{from: string, to?: string}} span
 * @param {"user" | "role"} module
 * @param {string} kind
 */
async function entries(page, span, module, kind) {
  const { data } = await page.call("GET", "/api/operation-log/list", {
    query: { ...span, module, kind: ["INSERT", "UPDATE", "DELETE", "IMPORT"], status: ["2xx"], size: MOST },
  });
  const events = data.items
    .filter(({ changeCount, dryRun }) => changeCount && !dryRun)
    .map(({ id, createTime, targets, action, userName }) => ({
      at: createTime,
      text: T.entry(targets?.join(", ") ?? "", action, userName),
      href: page.may("GET /api/operation-log/{id}") ? `/logs/operations/${id}` : null,
    }));
  return { title: T.modules[module], kind, events };
}
