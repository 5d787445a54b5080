// @ts-check
/** What the caller may do, by the menus that they see, in the words of their Buttons. */
import { bullets, h, icon } from "../core/dom.js";
import { menuTitle } from "./seed.js";
import { RIGHTS as T } from "../strings/home.js";
import { enumerated } from "../strings/common.js";

/** @typedef {import("../types/api").OwnMenu} Menu */

/** Read and return what the caller may do. @param {Page} page */
export async function rights(page) {
  const { data } = await page.call("GET", "/api/menu/mine");
  /** @type {(list: readonly Menu[]) => Menu[]} */ const flat = (list) =>
    list.flatMap((menu) => [menu, ...flat(menu.children)]);
  const areas = flat(data.menus).filter((area) => area.buttons.length > 0);
  if (areas.length === 0 && page.me.permissions.length === 0) return h("p", null, T.nothing);
  return bullets(
    areas,
    (area) => [
      icon(area.icon ?? "file"),
      h(
        "span",
        null,
        h("strong", null, menuTitle(area)),
        h("small", null, enumerated(area.buttons.map(word))),
      ),
    ],
    { class: "areas" },
  );
}

/** Return a permission code in words. @param {string} code */
function word(code) {
  const action = code.split(":").at(-1) ?? code;
  if (action === "*") return T.all(code.split(":").slice(0, -1).join(" "));
  return T.actions[action] ?? action.replaceAll("-", " ");
}
