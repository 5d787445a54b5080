// @ts-check
/** Who has looked at a revision of the policy. */
import { badges, button, card, h } from "../core/dom.js";
import { SIGN_OFFS as T } from "../strings/sign-offs.js";
import { settled } from "./dialog.js";
import { table } from "./rows.js";
import { time } from "./time.js";

const SIGN_OFF = "/api/policy/revisions/{revision}/sign-off";

/**
 * Return a button that signs a revision off; null if the caller may not.
 * @param {Page} page @param {number} revision
 */
export function signing(page, revision) {
  if (!page.may(`POST ${SIGN_OFF}`)) return null;
  return button(T.signOff, () => sign(page, revision), { icon: "check" });
}

/**
 * Return why the caller may not sign a revision off; null if they lack the permission for it.
 * @param {Page} page @param {string} reason
 */
export function notOthers(page, reason) {
  return page.may(`POST ${SIGN_OFF}`) && h("p", { class: "note" }, T.samePerson({ reason }));
}

/** @param {Page} page @param {number} revision */
async function sign(page, revision) {
  await settled(page, T.done({ revision }), {
    title: T.title({ revision }),
    text: T.text,
    confirm: T.signOff,
    extra: [
      { name: "title", label: T.name, required: true, help: T.nameHelp, most: 128 },
      { name: "note", label: T.note, type: "textarea", attributes: { maxlength: 500, rows: "3" } },
    ],
    act: (body) =>
      page.call("POST", SIGN_OFF, {
        path: { revision },
        body: /** @type {import("../types/api").SignOffBody} */ (body),
      }),
  });
}

/**
 * Return who has signed a revision off; null if nobody has, or if the caller may not list revisions.
 * @param {Page} page @param {{revision: number, createTime: string}} published
 */
export async function signOffs(page, { revision, createTime }) {
  if (!page.may("GET /api/policy/revisions")) return null;
  const to = new Date(Date.parse(createTime) + 1).toISOString(); // times have microseconds, and `to` is outside
  const { data } = await page.call("GET", "/api/policy/revisions", { query: { to, size: 10 } });
  const signed = data.items.find((each) => each.revision === revision)?.signOffs ?? [];
  if (signed.length === 0) return null;
  return card(
    T.card,
    table(
      T.card,
      [T.name, T.by, T.time, T.note],
      signed.map(({ title, userName, createTime: at, note }) => [title, userName, time(at), note]),
    ),
  );
}

/** Return who has signed a listed revision off, in short. @param {import("../types/api").ListedRevision} revision */
export function signedBy({ signOffs: signed }) {
  if (signed.length === 0) return null;
  return badges(
    signed.map(({ title, userName }) => h("span", { class: "badge good" }, `${title} · ${userName}`)),
  );
}
