// @ts-check
/** Creates a Menu or a Button, or edits one. */
import { creating, editing } from "../parts/declared.js";
import { Forest, readMenus } from "../parts/menus.js";
import { MENU } from "../records/menu.js";
import { MENUS as T } from "../strings/menus.js";

/** @param {Page} page */
export async function show(page) {
  const known = new Forest(await readMenus(page));
  if (page.params.id) return editing(page, MENU, known);
  const menuType = page.query.get("type") === "Button" ? "Button" : "Menu";
  const parentId = Number(page.query.get("parent")) || null;
  creating(page, MENU, {
    title: menuType === "Button" ? T.newButton : T.newMenu,
    record: { menuType, parentId },
    known,
    back: parentId ? `/menus/${parentId}` : "/menus",
    body: (values) => ({ ...values, menuType }),
  });
}
