// @ts-check
/** The first view: who the caller is, what they may do in words, and what needs attention. */
import { badge, badges, card, definition, h, icon, link } from "../core/dom.js";
import * as health from "../core/health.js";
import { HEALTH } from "../navigation.js";
import { trouble } from "../parts/trouble.js";
import { DOCTOR } from "../strings/doctor.js";
import { FRAME } from "../strings/frame.js";
import { HOME } from "../strings/home.js";
import { ACTIVITY } from "../strings/pictures.js";

/** @typedef {import("../types/api").OwnMenu} Menu */

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  const { me } = page;
  const {
    data: { menus },
  } = await page.call("GET", "/api/menu/mine");
  const findings = page.may("GET /api/system/findings")
    ? h("div", null, card(DOCTOR.attention, h("p", { class: "loading", role: "status" }, FRAME.loading)))
    : null;
  const happened = page.may("GET /api/system/activity") ? card(ACTIVITY.card) : null;
  page.title(HOME.title(me.nickName || me.name));
  page.put(
    findings,
    card(
      HOME.you,
      definition([
        [HOME.userName, me.name],
        [HOME.nickName, me.nickName],
        [HOME.email, me.email],
        [HOME.roles, me.roles.length > 0 ? badges(me.roles.map((role) => badge(role))) : HOME.noRoles],
      ]),
    ),
    card(HOME.may, rights(page, menus)),
    happened,
  );
  if (happened) page.during(recent(page, happened));
  if (findings) page.during(attention(page, findings));
}

/**
 * What the caller may do, by the menus that they see, in the words of their Buttons.
 * @param {import("../core/page.js").Page} page
 * @param {readonly Menu[]} menus
 */
function rights(page, menus) {
  /** @type {(list: readonly Menu[]) => Menu[]} */ const flat = (list) =>
    list.flatMap((menu) => [menu, ...flat(menu.children)]);
  const areas = flat(menus).filter((area) => area.buttons.length > 0);
  if (areas.length === 0 && page.me.permissions.length === 0) return h("p", null, HOME.mayNothing);
  return h(
    "ul",
    { class: "areas" },
    areas.map(({ icon: shown, title, buttons }) =>
      h(
        "li",
        null,
        icon(shown ?? "file"),
        h("span", null, h("strong", null, title), h("small", null, buttons.map(word).join(", "))),
      ),
    ),
  );
}

/** Return a permission code in words. @param {string} code */
function word(code) {
  const action = code.split(":").at(-1) ?? code;
  if (action === "*") return HOME.all(code.split(":").slice(0, -1).join(" "));
  return HOME.actions[action] ?? action.replaceAll("-", " ");
}

/** @param {import("../core/page.js").Page} page @param {HTMLElement} place */
async function recent(page, place) {
  const { activity } = await import("../pictures/activity.js");
  place.append(activity(page), h("p", { class: "help" }, link("/activity?hours=168", ACTIVITY.all)));
}

/** @param {import("../core/page.js").Page} page @param {HTMLElement} place */
async function attention(page, place) {
  try {
    const [data, { findingList }, { time }] = await Promise.all([
      health.read(),
      import("../parts/findings.js"),
      import("../parts/time.js"),
    ]);
    if (page.signal.aborted) return;
    const wrong = health.wrong(data);
    place.replaceChildren(
      card(
        DOCTOR.attention,
        wrong.length === 0 ? h("p", null, DOCTOR.fine) : findingList(wrong),
        h(
          "p",
          { class: "help" },
          DOCTOR.checkedAt,
          " ",
          time(data.checkedTime, { ago: true }),
          " · ",
          link(HEALTH, DOCTOR.all),
        ),
      ),
    );
  } catch (problem) {
    if (!page.signal.aborted) place.replaceChildren(trouble(problem));
  }
}
