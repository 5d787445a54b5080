// @ts-check
/** The permissions that a caller can pass on to a program: to an API key, or to an agent. */
import { covers } from "./codes.js";
import { readButtons } from "./menus.js";

/**
 * Return the codes among which the permissions of a program are chosen: those that the caller holds, and the codes of
 * Buttons that they cover, where the caller may list these. `*` itself can't be passed on.
 * @param {Page} page
 */
export async function scopesOf(page) {
  const held = page.me.permissions;
  const buttons = page.may("GET /api/menu/list") ? await readButtons(page) : [];
  const covered = buttons
    .filter(({ code }) => held.some((each) => covers(each, code)))
    .map(({ code, text, note }) => ({ key: code, text, note }));
  const known = new Set(covered.map(({ key }) => key));
  const further = held.filter((code) => !known.has(code) && !code.startsWith("*"));
  return [
    ...covered.filter(({ key }) => !key.startsWith("*")),
    ...further.map((code) => ({ key: code, text: code })),
  ];
}
