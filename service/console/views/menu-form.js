// @ts-check
/** Creates a Menu or a Button, or edits one. */
import { h } from "../core/dom.js";
import { tell } from "../parts/dialog.js";
import { form, merging } from "../parts/form.js";
import { Forest, pathOf, readMenus } from "../parts/menus.js";
import { agreed } from "../parts/preview.js";
import { ACTION } from "../strings/common.js";
import { MENUS as T } from "../strings/menus.js";

const ONE = "/api/menu/{id}";
/** Edits of these change who may do what. */
const RIGHTS = ["authMark", "enabled"];

/** @typedef {import("../core/page.js").Page} Page */

/** @param {Page} page */
export async function show(page) {
  const forest = new Forest(await readMenus(page));
  page.crumbs(["/menus", T.title]);
  if (page.params.id) await edit(page, forest);
  else create(page, forest);
}

/** @param {Page} page @param {Forest} forest */
function create(page, forest) {
  const menuType = page.query.get("type") === "Button" ? "Button" : "Menu";
  const parentId = Number(page.query.get("parent")) || null;
  page.title(menuType === "Button" ? T.newButton : T.newMenu);
  page.put(
    form({
      subject: ({ title }) => T.named({ menuType, title: title ?? "" }).trim(),
      fields: [parent(forest, null, parentId), ...fields({ menuType, enabled: true, sort: 0 })],
      submit: ACTION.create,
      save: async (values, { key, form: shown }) => {
        const { data } = await page.call("POST", "/api/menu", {
          body: /** @type {any} */ ({ ...values, menuType }),
          key,
        });
        shown.clean();
        tell(T.made(T.named(data)));
        page.go(`/menus/${data.id}`);
      },
      cancel: () => page.go(parentId ? `/menus/${parentId}` : "/menus"),
    }),
  );
}

/** @param {Page} page @param {Forest} forest */
async function edit(page, forest) {
  const path = { id: page.params.id };
  const names = (/** @type {any} */ menu) => ["parentId", ...fields(menu).map((field) => field.name)];
  const pick = (/** @type {any} */ menu) => Object.fromEntries(names(menu).map((name) => [name, menu[name]]));
  /** @type {Record<string, any>} */ let stored = {};
  let name = "";
  const made = await merging({
    read: async () => {
      const answer = await page.call("GET", ONE, { path });
      stored = pick(answer.data);
      name = T.named(answer.data);
      return answer;
    },
    pick,
    text: (name, value) => (name === "meta" && value ? JSON.stringify(value) : undefined),
    form: (menu) => ({
      subject: () => T.named(menu),
      fields: [parent(forest, menu.id, menu.parentId), ...fields(menu)],
      cancel: () => page.go(`/menus/${menu.id}`),
    }),
    write: async (body, { etag }) => {
      const write = (/** @type {boolean} */ dryRun) =>
        page.call("PATCH", ONE, { path, body, ifMatch: etag, dryRun });
      if (RIGHTS.every((name) => body[name] === stored[name])) return write(false);
      return agreed({ title: T.saveTitle(name), confirm: ACTION.save, write });
    },
    saved: ({ data }) => {
      tell(T.saved(T.named(data)));
      page.go(`/menus/${data.id}`);
    },
  });
  page.title(T.editTitle(name));
  page.put(made);
}

/**
 * @param {Forest} forest
 * @param {number | null} id The menu itself, once it exists.
 * @param {number | null} value
 * @returns {import("../parts/form.js").Field}
 */
function parent(forest, id, value) {
  const targets = forest.targets(id === null ? null : (forest.places.get(id) ?? null));
  const options = targets.map(
    (place) => /** @type {[any, string]} */ ([place.menu.id, pathOf(place).join(" › ")]),
  );
  options.sort((a, b) => a[1].localeCompare(b[1]));
  return { name: "parentId", label: T.below, type: "select", unset: T.top, value, options };
}

/** @param {any} menu @returns {import("../parts/form.js").Field[]} */
function fields(menu) {
  const common = [
    { name: "sort", label: T.sort, type: "number", required: true, value: menu.sort, help: T.sortHelp },
    { name: "enabled", label: T.enabledState, type: "check", value: menu.enabled },
  ];
  const title = {
    name: "title",
    label: T.titleField,
    required: true,
    value: menu.title,
    attributes: { maxlength: 128 },
  };
  if (menu.menuType === "Button") {
    return [
      title,
      {
        name: "authMark",
        label: T.code,
        required: true,
        value: menu.authMark,
        help: T.codeHelp,
        attributes: { maxlength: 128, spellcheck: "false" },
      },
      ...common,
    ];
  }
  return [
    title,
    { name: "name", label: T.name, value: menu.name, help: T.nameHelp },
    { name: "path", label: T.path, value: menu.path, help: T.pathHelp },
    { name: "component", label: T.component, value: menu.component, help: T.componentHelp },
    { name: "icon", label: T.icon, value: menu.icon },
    { name: "badge", label: T.badge, value: menu.badge, help: T.badgeHelp, attributes: { maxlength: 32 } },
    { name: "redirect", label: T.redirect, value: menu.redirect, help: T.redirectHelp },
    { name: "link", label: T.link, value: menu.link, help: T.linkHelp },
    ...common,
    { name: "hidden", label: T.hidden, type: "check", value: menu.hidden, help: T.hiddenHelp },
    { name: "keepAlive", label: T.keepAlive, type: "check", value: menu.keepAlive, help: T.keepAliveHelp },
    {
      name: "meta",
      label: T.meta,
      help: T.metaHelp,
      control: json(menu.meta),
      check: (value) => (typeof value !== "object" || Array.isArray(value) ? T.metaFault : null),
    },
  ];
}

/**
 * Return a control for a JSON value; a text that is no JSON is its own value, for `check` to refuse.
 * @param {any} value
 */
function json(value) {
  const area = h("textarea", { name: "meta", rows: "4", spellcheck: "false" });
  const set = (/** @type {any} */ given) => {
    area.value = given ? JSON.stringify(given, null, 2) : "";
  };
  const get = () => {
    if (!area.value.trim()) return null;
    try {
      return JSON.parse(area.value);
    } catch {
      return area.value;
    }
  };
  set(value);
  return { element: area, get, set };
}
