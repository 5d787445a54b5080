// @ts-check
/** One other service: what is stored, and what is open in it without a permission. */
import { badge, button, card, definition, empty, h, linkButton } from "../core/dom.js";
import { ask, tell } from "../parts/dialog.js";
import { attempt, previewed, undoing } from "../parts/preview.js";
import { OWN } from "../parts/resources.js";
import { table } from "../parts/rows.js";
import { edited, time } from "../parts/time.js";
import { S } from "../strings.js";
import { words } from "./services.js";

const T = S.services;
const ONE = "/api/service/{id}";
const OPENING = "/api/opening/{id}";
const MOST = 200;

/** @typedef {import("../core/router.js").Page} Page */
/** @typedef {import("../types/api").Service} Service */
/** @typedef {import("../types/api").ServiceOpening} Opening */

/** @param {Page} page */
export async function show(page) {
  const { data: service, etag } = await page.call("GET", ONE, { path: { id: page.params.id } });
  const foreign = service.name !== OWN;
  page.crumbs(["/services", T.title]);
  page.title(service.name,
    foreign && page.may("PATCH /api/service/{id}") && linkButton(`/services/${service.id}/edit`, S.action.edit, { icon: "edit" }),
    foreign && page.may("DELETE /api/service/{id}") && button(S.action.delete, () => remove(page, service, etag), { kind: "danger", icon: "trash" }));
  page.put(
    card(T.facts, definition([
      [T.description, service.description],
      [T.router, words(service)],
      [T.created, time(service.createTime)],
      [T.updated, edited(service)],
    ]), h("div", { class: "actions" },
      page.may("GET /api/resource/list") && linkButton(`/resources?service=${encodeURIComponent(service.name)}`, S.resources.title, { icon: "link" }))),
    page.may("GET /api/opening/list") && card(T.openings, await openings(page, service)));
}

/** @param {Page} page @param {Service} service */
async function openings(page, service) {
  const { data } = await page.call("GET", "/api/opening/list", { query: { service: service.name, size: MOST } });
  const closes = page.may("DELETE /api/opening/{id}");
  return [
    h("p", null, T.openingsText),
    data.items.length ? table(T.openings, [T.object, T.opensTo, ""], data.items.map((/** @type {Opening} */ one) => [
      h("code", null, one.object), badge(T.codes[one.code], one.code === "@anyone" ? "warn" : "info"),
      closes && button(T.close, () => close(page, one), { "aria-label": T.closeOne(one.object) })])) : empty(T.noOpenings),
    page.may("POST /api/opening") && h("div", { class: "actions" }, button(T.open, () => open(page, service), { icon: "plus" })),
  ];
}

/** @param {Page} page @param {Service} service */
async function open(page, service) {
  const options = page.may("GET /api/resource/list")
    ? (await page.call("GET", "/api/resource/list", { query: { service: service.name, size: MOST, sort: "path" } })).data.items : [];
  const asked = await ask({ title: T.openTitle(service.name), text: T.openText, confirm: S.resources.preview, extra: [
    { name: "resourceId", label: T.object, type: "select", unset: T.unregistered, options: options.map((/** @type {any} */ one) => [one.id, `${one.method} ${one.path}`]) },
    { name: "code", label: T.opensTo, type: "select", required: true, value: "@login", options: Object.entries(T.codes) }] });
  if (!asked) return;
  const body = /** @type {any} */ ({ ...asked, service: service.name });
  await attempt(T.openTitle(service.name), async () => {
    const done = await previewed({ title: T.openTitle(service.name), confirm: T.openConfirm, danger: true,
      write: (dryRun) => page.call("POST", "/api/opening", { body, dryRun }) });
    if (!done) return;
    tell(T.opened(done.data.object), { undo: undoing("DELETE", OPENING, { path: { id: done.data.id } }) });
    await page.reload();
  });
}

/** @param {Page} page @param {Opening} one */
function close(page, one) {
  const title = T.closeTitle(one.object);
  return attempt(title, async () => {
    const done = await previewed({ title, confirm: T.close,
      write: (dryRun) => page.call("DELETE", OPENING, { path: { id: one.id }, dryRun }) });
    if (!done) return;
    const { service, resourceId, code } = one;
    tell(T.closed(one.object), { undo: undoing("POST", "/api/opening", { body: { service, resourceId, code } }) });
    await page.reload();
  });
}

/** @param {Page} page @param {Service} service @param {string | null} etag */
function remove(page, service, etag) {
  const title = T.deleteTitle(service.name);
  return attempt(title, async () => {
    const done = await previewed({ title, text: T.deleteText, confirm: T.deleteConfirm, danger: true,
      write: (dryRun) => page.call("DELETE", ONE, { path: { id: service.id }, ifMatch: etag, dryRun }) });
    if (!done) return;
    tell(T.deleted(service.name));
    page.go("/services");
  });
}
