// @ts-check
/** The first view: who the caller is, what they may do in words, and what needs attention. */
import { badge, badges, card, definition, h, icon, link } from "../core/dom.js";
import { viewOf } from "../core/router.js";
import { menus } from "../core/session.js";
import { trouble } from "../parts/trouble.js";
import { S } from "../strings.js";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  const { me } = page;
  const findings = page.may("GET /api/system/findings")
    ? h("div", null, card(S.doctor.attention, h("p", { class: "loading", role: "status" }, S.frame.loading)))
    : null;
  page.title(S.home.title(me.nickName || me.name));
  page.put(
    findings,
    card(
      S.home.you,
      definition([
        [S.home.userName, me.name],
        [S.home.nickName, me.nickName],
        [S.home.email, me.email],
        [S.home.roles, me.roles.length > 0 ? badges(me.roles.map((role) => badge(role))) : S.home.noRoles],
      ]),
    ),
    card(S.home.may, rights(page)),
  );
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
  if (areas.length === 0 && page.me.permissions.length === 0) return h("p", null, S.home.mayNothing);
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
  if (action === "*") return S.home.all(code.split(":").slice(0, -1).join(" "));
  return S.home.actions[action] ?? action.replaceAll("-", " ");
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
        S.doctor.attention,
        wrong.length === 0 ? h("p", null, S.doctor.fine) : findingList(wrong),
        h(
          "p",
          { class: "help" },
          S.doctor.checkedAt,
          " ",
          time(data.checkedTime, { ago: true }),
          " · ",
          link("/doctor", S.doctor.all),
        ),
      ),
    );
  } catch (problem) {
    if (!page.signal.aborted) place.replaceChildren(trouble(problem));
  }
}
