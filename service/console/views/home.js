// @ts-check
/** The first view: who the caller is, what they may do in words, and what needs attention. */
import { badge, badges, card, definition, h, icon, link } from "../core/dom.js";
import { viewOf } from "../core/router.js";
import { menus } from "../core/session.js";
import { trouble } from "../parts/trouble.js";
import { DOCTOR } from "../strings/doctor.js";
import { FRAME } from "../strings/frame.js";
import { HOME } from "../strings/home.js";
import { ACTIVITY } from "../strings/pictures.js";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  const { me } = page;
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
    card(HOME.may, rights(page)),
    happened,
  );
  if (happened) page.during(recent(page, happened));
  if (findings) page.during(attention(page, findings));
}

/**
 * What the caller may do, by the menus that they see, in the words of their Buttons.
 * @param {import("../core/page.js").Page} page
 */
function rights(page) {
  /** @type {(list: any[]) => any[]} */ const flat = (list) =>
    list.flatMap((menu) => [menu, ...flat(menu.children)]);
  const areas = flat(menus).filter((area) => area.buttons.length > 0);
  if (areas.length === 0 && page.me.permissions.length === 0) return h("p", null, HOME.mayNothing);
  return h(
    "ul",
    { class: "areas" },
    areas.map((area) => {
      const view = viewOf(area);
      const words = area.buttons.map(word);
      return h(
        "li",
        null,
        icon(area.icon ?? "file"),
        h(
          "span",
          null,
          view && page.may(view.operation ?? "")
            ? link(view.pattern, area.title)
            : h("strong", null, area.title),
          h("small", null, words.join(", ")),
        ),
      );
    }),
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
    const [{ data }, { findingList }, { time }] = await Promise.all([
      page.call("GET", "/api/system/findings"),
      import("../parts/findings.js"),
      import("../parts/time.js"),
    ]);
    const wrong = data.items.filter(({ state }) => state !== "ok");
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
          link("/doctor", DOCTOR.all),
        ),
      ),
    );
  } catch (problem) {
    if (!page.signal.aborted) place.replaceChildren(trouble(problem));
  }
}
