// @ts-check
/** The first steps in a new installation, ticked off as they are taken. */
import { button, h, icon } from "../core/dom.js";
import { STEPS as T } from "../strings/home.js";
import { rows, way } from "./block.js";
import { isRemembered, remember } from "./remembered.js";

/** @typedef {import("../core/page.js").Page} Page */

const HIDDEN = "first-steps-hidden";
/** The name of the first administrator, who alone has the first password. */
const FIRST = "admin";
/** Where the steps are taken; a backup is made by the command line, and the guide says how. */
const ADDRESSES = /** @type {Record<string, string>} */ ({
  password: "/account",
  role: "/roles/new",
  user: "/users/new",
  resource: "/resources/import",
  explain: "/policy/explain",
});

/**
 * Read and return the steps: null where the caller may not take them or has put them away, where all are taken, and
 * where the installation is not new any more.
 * @param {Page} page
 */
export async function firstSteps(page) {
  const takes = ["GET /api/system/first-steps", "POST /api/role", "POST /api/user", "POST /api/resource"];
  if (isRemembered(HIDDEN) || !takes.every((operation) => page.may(operation))) return null;
  const { data } = await page.call("GET", "/api/system/first-steps");
  const taken = /** @type {Record<string, boolean>} */ ({ ...data, explain: isRemembered("explained") });
  const left = Object.keys(T.names).filter((step) => !taken[step]);
  if (!data.isNew || left.length === 0) return null;
  const next = left[0];
  return [
    h("p", null, T.text),
    rows(
      Object.entries(T.names).map(([step, [text, help, act]]) => ({
        mark: taken[step]
          ? h("span", { class: "step done" }, icon("check"), h("span", { class: "hidden" }, T.done))
          : h("span", { class: "step" }, h("span", { class: "hidden" }, T.left)),
        text: h("strong", null, text),
        help: taken[step] ? null : help,
        act: !taken[step] && actOf(page, step, act, step === next),
      })),
    ),
    h(
      "div",
      { class: "actions" },
      button(T.dismiss, () => {
        remember(HIDDEN);
        return page.reload();
      }),
    ),
  ];
}

/** @param {Page} page @param {string} step @param {string} text @param {boolean} next */
function actOf(page, step, text, next) {
  const { guide } = document.documentElement.dataset;
  if (step === "backup")
    return guide && h("a", { href: `${guide}/guides/backup.html`, class: "button", target: "_blank" }, text);
  const anothers = step === "password" && page.me.name !== FIRST;
  const made = way(page, anothers ? `/users?userName=${FIRST}` : ADDRESSES[step], text);
  if (next) made?.classList.add("primary");
  return made;
}
