// @ts-check
/** What a role, a user or a holder of codes may do: the codes that they hold, and all that these pass. */
import { badge, badges, card, definition, empty, h, link } from "../core/dom.js";
import { POLICY as T } from "../strings/policy.js";
import { USERS } from "../strings/users.js";
import { folding } from "./folding.js";
import { pathButton, pathTo } from "./path-to.js";
import { after, codes, demanded, explaining, objectOf, passedBy, why } from "./policy.js";
import { folded } from "./preview.js";
import { requestOf } from "./request-line.js";
import { listing } from "./table.js";

const ROWS = 50;
/** The most codes that are shown at once: an administrator holds thousands. */
const FEW_CODES = 60;

/**
 * Read what a subject may do, and return what shows it.
 * @param {Page} page
 * @param {Record<string, string>} subject As `GET /api/policy/what` names it.
 * @param {Record<string, string>} [asker] As an explanation names it.
 */
export async function access(page, subject, asker = subject) {
  const read = async (/** @type {Record<string, any>} */ { page: number, size = ROWS, kind, needs }) =>
    (await page.call("GET", "/api/policy/what", { query: { ...subject, page: number, size, kind, needs } }))
      .data;
  const data = await read(Object.fromEntries(page.query));
  /** @type {Record<string, string>} */
  const through = { code: "roleCode" in subject ? T.throughRole : T.throughCodes, ...T.otherwise };
  const choice = await pathTo(page, asker);
  return [
    card(
      T.answer,
      data.keptOut && h("p", { class: "note bad" }, T.keptOut),
      definition([
        [
          USERS.status,
          data.userStatus &&
            data.userStatus !== "enabled" &&
            badge(USERS.statuses[data.userStatus] ?? data.userStatus, "bad"),
        ],
        [T.holds, data.permissions.length ? held(page, asker, data.permissions) : T.holdsNothing],
      ]),
    ),
    choice,
    listing(page, {
      caption: T.whatCaption,
      file: "effective-access",
      size: ROWS,
      filters: [
        { name: "needs", label: T.through, type: "select", options: Object.entries(through) },
        { name: "kind", label: T.kind, type: "select", options: Object.entries(T.kinds) },
      ],
      groups: folding(
        (item) => through[item.needs],
        6,
        (name) => name,
      ),
      columns: [
        {
          title: T.what,
          cell: (item) =>
            item.kind === "request" ? objectOf(page, item.object) : h("code", null, item.object),
        },
        { title: T.kind, kind: "wide", cell: (item) => T.kinds[item.kind] },
        { title: T.layers["assurance"], cell: (item) => demanded(item.assurance) },
        { title: T.resourceLine, cell: (item) => passedBy(item.resource) },
        { title: T.endpointLine, cell: (item) => passedBy(item.endpoint ?? item.grant) },
      ],
      buttons: (item) => {
        if (item.kind === "grant") return why(page, { ...asker, grant: item.object }, item.object);
        const request = requestOf(item.object);
        return (
          request && [pathButton(page, asker, request), " ", why(page, { ...asker, ...request }, item.object)]
        );
      },
      empty: empty(T.whatNothing),
      load: after(data, read),
    }),
  ];
}

/**
 * Return the codes that a subject holds. Those of a user and of a role lead to where they come from.
 * @param {Page} page
 * @param {Record<string, string>} asker
 * @param {readonly string[]} permissions
 */
function held(page, asker, permissions) {
  const explained = !asker.permissions && page.may("POST /api/policy/explain");
  const shown = (/** @type {string} */ permission) =>
    link(explaining({ ...asker, permission }), h("code", null, permission));
  const summary = h("summary", null, T.heldCodes({ n: permissions.length }));
  return folded(permissions.length <= FEW_CODES, summary, () => [
    explained ? badges(permissions.map(shown)) : codes(permissions),
  ]);
}
