// @ts-check
/** The texts of menus. */
import { saying, texts } from "../core/texts.js";

const T = await texts("menus");

export const MENUS = saying(T.MENUS, {
  /** A Menu or a Button with its title, as texts name it. */
  named: (/** @type {{menuType: string, title: string}} */ { menuType, title }) =>
    T.MENUS.named({ type: T.MENUS.types[menuType], title }),
});
