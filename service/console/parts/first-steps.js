// @ts-check
/** The first steps in a new installation, ticked off as they are taken. */
import { actions, button, h, icon } from "../core/dom.js";
import { STEPS as T } from "../strings/home.js";
import { rows, way } from "./block.js";
import { isRemembered, remember } from "./remembered.js";

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
 * Read which steps are taken; null where the caller may not take them, and where the installation is not new any more.
 * @param {Pick<Page, "may" | "call">} page
 * @returns {Promise<Record<string, boolean> | null>}
 */
export async function takenSteps(page) {
  const takes = ["GET /api/system/first-steps", "POST /api/role", "POST /api/user", "POST /api/resource"];
  if (!takes.every((operation) => page.may(operation))) return null;
  const { data } = await page.call("GET", "/api/system/first-steps");
  return data.isNew ? { ...data, explain: isRemembered("explained") } : null;
}

/**
 * Read and return the steps, the next one first; null also where all are taken or the caller has put them away.
 * @param {Page} page
 */
export async function firstSteps(page) {
  const taken = isRemembered(HIDDEN) ? null : await takenSteps(page);
  if (!taken) return null;
  const all = Object.entries(T.names);
  const left = all.filter(([step]) => !taken[step]);
  if (left.length === 0) return null;
  const [[next, [text, help, act]]] = left;
  const dismiss = button(
    T.dismiss,
    () => {
      remember(HIDDEN);
      return page.reload();
    },
    { kind: "quiet" },
  );
  return [
    rows([
      {
        mark: h("progress", { max: all.length, value: all.length - left.length, "aria-label": T.title }),
        text: [h("strong", null, text), " ", h("span", { class: "soft" }, help)],
        act: actions(dismiss, actOf(page, next, act, true)),
      },
    ]),
    h(
      "details",
      null,
      h("summary", null, T.taken({ n: all.length - left.length, all: all.length })),
      rows(
        all.map(([step, [name, about, way]]) => ({
          mark: taken[step]
            ? h("span", { class: "step done" }, icon("check"), h("span", { class: "hidden" }, T.done))
            : h("span", { class: "step" }, h("span", { class: "hidden" }, T.left)),
          text: h("strong", null, name),
          help: taken[step] ? null : about,
          act: !taken[step] && step !== next && actOf(page, step, way, false),
        })),
      ),
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
