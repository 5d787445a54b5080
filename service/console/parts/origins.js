// @ts-check
/** By which directories a user is known: the own ones, which are linked and unlinked, and those of another user. */
import { badge, badges, button, h } from "../core/dom.js";
import { ORIGINS as T } from "../strings/providers.js";
import { ask, tell } from "./dialog.js";
import { linkAt } from "./providers.js";
import { table } from "./rows.js";
import { time } from "./time.js";
import { attempting } from "./trouble.js";

const ONE = "/api/user/{id}/origins/{source}";

/** @typedef {import("../types/api").UserOrigin} Origin */

/** Return the directories that know the caller, and the providers that do not yet. @param {Page} page */
export async function ownOrigins(page) {
  const [{ data: known }, { data: providers }] = await Promise.all([
    page.call("GET", "/api/user/profile/origins"),
    page.call("GET", "/api/auth/oidc"),
  ]);
  const sources = new Set(known.items.map(({ source }) => source));
  const free = providers.items.filter(({ name }) => !sources.has(name));
  const unlink = (/** @type {Origin} */ origin) =>
    unlinked(page, origin, {
      title: T.unlinkTitle({ title: origin.title }),
      text: T.unlinkText,
      act: () =>
        page.call("DELETE", "/api/user/profile/origins/{source}", { path: { source: origin.source } }),
    });
  return [
    h("p", { class: "help" }, T.about),
    known.items.length ? listed(T.title, known.items, unlink) : h("p", null, T.noneOwn),
    free.map(({ name, title }) => attempting(T.link({ title }), {}, () => linkAt(page, name))),
  ];
}

/** Return the directories that know a user. @param {Page} page @param {{id: number, userName: string}} user */
export async function origins(page, user) {
  const { data } = await page.call("GET", "/api/user/{id}/origins", { path: { id: user.id } });
  const may = user.id !== page.me.id && page.may(`DELETE ${ONE}`);
  const unlink = (/** @type {Origin} */ origin) =>
    unlinked(page, origin, {
      title: T.unlinkUserTitle({ title: origin.title, user: user.userName }),
      text: T.unlinkUserText,
      act: () => page.call("DELETE", ONE, { path: { id: user.id, source: origin.source } }),
    });
  return data.items.length
    ? listed(T.ofUser, data.items, may ? unlink : null)
    : h("p", { class: "empty" }, T.none);
}

/**
 * @param {string} caption
 * @param {readonly Origin[]} items
 * @param {((origin: Origin) => Promise<void>) | null} unlink
 */
function listed(caption, items, unlink) {
  return table(
    caption,
    [T.directory, T.subject, T.linked, T.used, ...(unlink ? [""] : [])],
    items.map((origin) => [
      [
        origin.title,
        " ",
        badges(
          origin.managed && badge(T.manages, "info"),
          origin.current && badge(T.current, "good"),
          !origin.managed && !origin.provider && badge(T.off, "warn"),
        ),
      ],
      [origin.subject, origin.issuer && h("small", null, ` ${origin.issuer}`)],
      time(origin.createTime),
      time(origin.lastTime, { ago: true }) ?? T.never,
      ...(unlink
        ? [
            button(T.unlink, () => unlink(origin), {
              "aria-label": T.unlinkOne({ title: origin.title }),
              disabled: origin.managed,
              title: origin.managed ? T.managed({ name: origin.source }) : null,
            }),
          ]
        : []),
    ]),
  );
}

/**
 * Unlink after a question, and show the page again.
 * @param {Page} page
 * @param {Origin} origin
 * @param {{title: string, text: string, act: () => Promise<any>}} question
 */
async function unlinked(page, { title: name }, { title, text, act }) {
  if (!(await ask({ title, text, confirm: T.unlink, danger: true, act }))) return;
  tell(T.unlinked({ title: name }));
  await page.reload();
}
