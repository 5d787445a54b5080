// @ts-check
/** One Menu or Button: its values, what it opens, and what can be done about it. */
import {
  actions,
  badge,
  badges,
  bullets,
  button,
  card,
  definition,
  empty,
  h,
  link,
  linkButton,
} from "../core/dom.js";
import { saying } from "../core/texts.js";
import { ACTION, RECORD, enumerated } from "../strings/common.js";
import { MENU } from "../records/menu.js";
import { MENUS as T } from "../strings/menus.js";
import { history } from "./history.js";
import { covered } from "./menus.js";
import { chosen } from "./chooser.js";
import { copyable } from "./copy.js";
import { deleting, toggle } from "./declared.js";
import { saving, undoing } from "./preview.js";
import { isWildcard } from "./codes.js";
import { record } from "./record.js";
import { requestLine } from "./request-line.js";
import { OWN } from "./resources.js";
import { table } from "./rows.js";
import { menuTitle, resourceName } from "./seed.js";
import { edited } from "./time.js";

const BOUND = "/api/menu/{id}/resources";

/** @typedef {import("./menus.js").Place} Place */
/** @typedef {import("./menus.js").Menu} Menu */
/** @typedef {import("../types/api").BoundResource} Resource */

/**
 * Show a Menu or a Button, beside the tree.
 * @param {Page} page
 * @param {import("./menus.js").Forest} forest
 * @param {Place} place
 * @param {HTMLElement} among The tree.
 * @param {() => any} move Asks where to move it.
 */
export function menuRecord(page, forest, place, among, move) {
  const { menu } = place;
  const isButton = menu.menuType === "Button";
  const etag = `"${menu.version}"`;
  const edits = page.may("PATCH /api/menu/{id}");
  const adds = !isButton && page.may("POST /api/menu");
  const add = (/** @type {string} */ type, /** @type {string} */ text) =>
    adds && linkButton(`/menus/new?type=${type}&parent=${menu.id}`, text, { icon: "plus" });
  return record(page, {
    base: `/menus/${menu.id}`,
    crumbs: [["/menus", T.title], ...above(place)],
    title: menuTitle(menu),
    state: !menu.enabled && badge(T.disabledState, "warn"),
    primary: edits && linkButton(`/menus/${menu.id}/edit`, ACTION.edit, { icon: "edit" }),
    acts: [
      add("Menu", T.addMenu),
      add("Button", T.addButton),
      edits && button(T.moveTo, move),
      edits && button(menu.enabled ? T.disable : T.enable, () => toggle(page, kindOf(menu), menu, etag)),
      page.may("DELETE /api/menu/{id}") &&
        button(ACTION.delete, () => deleting(page, MENU, menu, etag), { kind: "danger", icon: "trash" }),
    ],
    tabs: [
      {
        path: "",
        text: T.types[menu.menuType],
        show: async () => [
          card("", facts(menu)),
          isWildcard(menu.authMark) && card(T.covers, codes(covered(forest, place))),
          isButton && card(T.opens, await resources(page, menu)),
        ],
      },
      {
        path: "history",
        text: RECORD.history,
        show: () =>
          history(page, menu.authMark === null ? `menu:${menu.title}` : `button:${menu.authMark}`, menu),
      },
    ],
    among,
  });
}

/** Return the way to a place from the top. @param {Place} place @returns {[string, string][]} */
function above({ parent }) {
  return parent ? [...above(parent), [`/menus/${parent.menu.id}`, menuTitle(parent.menu)]] : [];
}

/** @param {Menu} menu */
function facts(menu) {
  return definition([
    [T.code, copyable(menu.authMark)],
    [T.name, menu.name],
    [T.path, menu.path],
    [T.component, menu.component],
    [T.icon, menu.icon],
    [T.badge, menu.badge],
    [T.redirect, menu.redirect],
    [T.link, menu.link],
    [T.shown, enumerated([menu.hidden && T.hidden, menu.keepAlive && T.keepAlive])],
    [T.meta, menu.meta && h("code", null, JSON.stringify(menu.meta))],
    [T.sort, String(menu.sort)],
    [T.updated, edited(menu)],
  ]);
}

/** @param {Place[]} places */
function codes(places) {
  return h(
    "details",
    null,
    h("summary", null, T.coversCount({ n: places.length })),
    bullets(places, ({ menu }) => [
      link(`/menus/${menu.id}`, menuTitle(menu)),
      " ",
      h("code", null, menu.authMark),
    ]),
  );
}

/** @param {Menu} menu */
function kindOf({ menuType }) {
  if (menuType === "Button") return MENU;
  return { ...MENU, texts: saying(T, { enableText: T.menuStateText, disableText: T.menuStateText }) };
}

/** @param {Page} page @param {Menu} menu */
async function resources(page, menu) {
  const path = { id: menu.id };
  const { data, etag } = await page.call("GET", BOUND, { path });
  const binds = page.may("PUT /api/menu/{id}/resources");
  /** @param {string} title @param {string} confirm @param {number[]} resourceIds @param {string} done */
  const bind = (title, confirm, resourceIds, done) =>
    saving(page, {
      title,
      text: T.bindText,
      confirm,
      write: (dryRun) => page.call("PUT", BOUND, { path, body: { resourceIds }, ifMatch: etag, dryRun }),
      done,
      undo: (saved) =>
        undoing(page, ["PUT", BOUND, { path, body: { resourceIds: data.resourceIds }, ifMatch: saved.etag }]),
    });
  const shown = data.resources.map((/** @type {Resource} */ resource) => [
    page.linked("resource", resource.id, resourceName(resource)),
    badges(
      requestLine(resource.method, resource.path),
      resource.service !== OWN && badge(resource.service, "info"),
      !resource.enabled && badge(T.disabledState, "warn"),
    ),
    ...(binds
      ? [
          button(
            T.unbind,
            () =>
              bind(
                T.unbindTitle({ name: resourceName(resource) }),
                T.unbind,
                data.resourceIds.filter((/** @type {number} */ id) => id !== resource.id),
                T.unbound({ name: resourceName(resource) }),
              ),
            { "aria-label": T.unbindOne({ name: resourceName(resource) }) },
          ),
        ]
      : []),
  ]);
  return [
    shown.length
      ? table(T.opens, [T.resource, T.request, ...(binds ? [""] : [])], shown)
      : empty(T.opensNothing),
    binds &&
      page.may("GET /api/resource/list") &&
      actions(
        button(
          T.bind,
          async () => {
            const resource = await choose(page, data.resourceIds);
            if (resource)
              await bind(
                T.bindTitle({ name: resourceName(resource) }),
                T.bindConfirm,
                [...data.resourceIds, resource.id],
                T.bound({ name: resourceName(resource) }),
              );
          },
          { icon: "link" },
        ),
      ),
  ];
}

/**
 * Let the reader look for a resource; undefined if none is chosen.
 * @param {Page} page
 * @param {readonly number[]} bound
 * @returns {Promise<Resource | undefined>}
 */
function choose(page, bound) {
  return chosen({
    title: T.bind,
    label: T.findResource,
    find: async (path, size) =>
      (await page.call("GET", "/api/resource/list", { query: { path, size, sort: "path" } })).data,
    fits: (resource) => !bound.includes(resource.id),
    words: (resource) => [`${resource.method} ${resource.path}`, resourceName(resource)],
  });
}
