// @ts-check
/** Creates a Button where one is chosen, and is not there yet. */
import { MENU } from "../records/menu.js";
import { MENUS as T } from "../strings/menus.js";
import { fieldsOf } from "./declared.js";
import { ask, tell } from "./dialog.js";
import { Forest, optionOf, readMenus } from "./menus.js";

/** A code: words between colons. */
const CODE = /^[\w-]+(:[\w-]+)+$/;

/**
 * Return the way of a `picker` to create a Button, for callers who may.
 * @param {Page} page
 * @returns {import("./picker.js").Missing}
 */
export function missingButton(page) {
  if (!page.may("POST /api/menu")) return { none: T.noButton };
  return { none: T.noButtonYet, act: T.newButton, create: (text) => create(page, text) };
}

/** Ask for a Button and create it; null if the reader gives up. @param {Page} page @param {string} text Its code. */
async function create(page, text) {
  const forest = new Forest(await readMenus(page));
  const authMark = CODE.test(text) ? text : "";
  const record = { menuType: "Button", authMark, parentId: besideAlike(forest, authMark) };
  const fields = fieldsOf(MENU, { page, known: forest, record, values: () => record }, true);
  /** @type {number | null} */ let made = null;
  const agreed = await ask({
    title: T.newButton,
    text: T.newButtonText,
    confirm: T.createButton,
    extra: fields.filter(({ name }) => name in record || name === "title"),
    act: async (values, { key }) => {
      const body = { ...values, menuType: "Button", sort: 0 };
      made = (await page.call("POST", "/api/menu", { body, key })).data.id;
    },
  });
  if (!agreed) return null;
  tell(T.made({ name: agreed.title }));
  const place = new Forest(await readMenus(page)).buttons.find(({ menu }) => menu.id === made);
  return place ? optionOf(place) : null;
}

/**
 * Return the Menu of the Buttons whose codes begin as a code does; null for none.
 * @param {Forest} forest @param {string} code
 */
function besideAlike({ buttons }, code) {
  const area = code.slice(0, code.lastIndexOf(":") + 1);
  const alike = area && buttons.find(({ menu }) => menu.authMark?.startsWith(area));
  return (alike && alike.menu.parentId) || null;
}
