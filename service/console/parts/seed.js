// @ts-check
/**
 * The names of the roles, Menus, Buttons and resources of a new installation in the language of the page, until
 * somebody renames them: the texts have the key of each with its first name. Forms show the stored name.
 */
import { languageOfPage, messages } from "../core/texts.js";

const T = await messages("seed");

/** @param {string} kind @param {string | null | undefined} code @param {string} name */
function translated(kind, code, name) {
  return /** @type {Record<string, string>} */ (T.SEED)[`${kind} ${code}: ${name}`] ?? name;
}

/** Return the name of a role; its code without a name. @param {{roleCode: string, roleName?: string | null}} role */
export function roleName({ roleCode, roleName: name }) {
  return name ? translated("role", roleCode, name) : roleCode;
}

/** Return the description of a role. @param {{roleCode: string, description?: string | null}} role */
export function roleDescription({ roleCode, description }) {
  return description && translated("role", roleCode, description);
}

/** Return the name of a resource. @param {{resourceCode: string, resourceName: string}} resource */
export function resourceName({ resourceCode, resourceName: name }) {
  return translated("resource", resourceCode, name);
}

/**
 * Return the title of a Menu or a Button: that of the language, if it has one.
 * @param {{menuType?: string, name?: string | null, authMark?: string | null, title: string, titles?: any}} menu
 */
export function menuTitle({ menuType, name, authMark, title, titles }) {
  const own = titles?.[languageOfPage()];
  const isButton = menuType === "Button" || authMark;
  return own ?? translated(isButton ? "button" : "menu", isButton ? authMark : name, title);
}
