// @ts-check
/** The API keys of a user. Those of service accounts are made here; a new key is shown once. */
import { badge, button, h } from "../core/dom.js";
import { ask, settled } from "./dialog.js";
import { once } from "./once.js";
import { codesIn } from "./policy.js";
import { codes } from "./suggestions.js";
import { whole } from "./local.js";
import { listing } from "./table.js";
import { time } from "./time.js";
import { lifetimes, enumerated } from "../strings/common.js";
import { KEYS as T } from "../strings/users.js";

/** How long a key lasts unless the reader chooses otherwise: 90 days, in seconds. */
const USUAL = 7_776_000;

/** The columns of keys. @type {import("./table.js").Listing["columns"]} */
export const COLUMNS = [
  { title: T.name, cell: (apiKey) => apiKey.name },
  { title: T.prefix, kind: "wide", cell: (apiKey) => h("code", null, apiKey.prefix) },
  {
    title: T.scopes,
    cell: (apiKey) => (apiKey.scopes ? [enumerated(apiKey.scopes), ...unneeded(apiKey)] : T.everything),
  },
  {
    title: T.expires,
    cell: (apiKey) =>
      apiKey.expireTime
        ? [
            time(apiKey.expireTime),
            " ",
            Date.parse(apiKey.expireTime) < Date.now() && badge(T.expired, "bad"),
          ]
        : T.never,
  },
  {
    title: T.used,
    cell: (apiKey) => {
      const used = time(apiKey.lastUseTime, { ago: true });
      // The address is recorded of keys of people.
      return used
        ? [used, apiKey.lastUseIp && h("small", null, " ", T.from({ address: apiKey.lastUseIp }))]
        : T.unused;
    },
  },
  { title: T.created, kind: "wide", cell: (apiKey) => time(apiKey.createTime) },
];

/**
 * Return what a key that was used could do without: the use of scopes is recorded of keys of people.
 * @param {import("../types/api").KeyOfUser} apiKey
 */
function unneeded({ lastUseTime, scopes, unusedScopes, proposedScopes }) {
  if (!lastUseTime || !scopes || !unusedScopes || !proposedScopes) return [];
  if (scopes.every((scope) => proposedScopes.includes(scope))) return [];
  return [
    unusedScopes.length > 0 && h("p", { class: "help" }, T.neverUsed({ codes: enumerated(unusedScopes) })),
    proposedScopes.length > 0 && h("p", { class: "help" }, T.enough({ codes: enumerated(proposedScopes) })),
  ];
}

/**
 * Return the list of the keys of a user.
 * @param {Page} page
 * @param {import("../types/api").User} user
 */
export function keys(page, { id, kind }) {
  const isService = kind === "service";
  const list = listing(page, {
    caption: T.caption,
    actions: [
      isService &&
        page.may("POST /api/user/{id}/keys") &&
        button(T.make, make, { icon: "plus", kind: "primary" }),
    ],
    columns: COLUMNS,
    load: async () => whole((await page.call("GET", "/api/user/{id}/keys", { path: { id } })).data.items),
    buttons: (apiKey) =>
      page.may("DELETE /api/user/{id}/keys/{keyId}") &&
      button(T.delete, () => remove(apiKey), { "aria-label": `${T.delete}: ${apiKey.name}` }),
    empty: h("p", { class: "empty" }, isService ? T.none : T.noneOfPerson),
  });

  async function make() {
    /** @type {import("../types/api").NewKeyOfUser | undefined} */ let made;
    const asked = await ask({
      title: T.make,
      confirm: T.make,
      extra: [
        { name: "name", label: T.name, required: true, most: 64 },
        {
          name: "expiresIn",
          label: T.expiresAfter,
          type: "select",
          unset: T.noEnd,
          options: lifetimes(),
          value: USUAL,
        },
        { name: "scopes", label: T.scopes, help: T.scopesHelp, wrap: codes(page, { several: true }) },
      ],
      act: async ({ name: called, expiresIn, scopes }) => {
        const limits = codesIn(scopes);
        const body = { name: called, expiresIn, scopes: limits.length ? limits : null };
        ({ data: made } = await page.call("POST", "/api/user/{id}/keys", { path: { id }, body }));
      },
    });
    if (!asked || !made) return;
    await once(T.made, T.madeText, made.key);
    await list.reload();
  }

  /** @param {import("../types/api").KeyOfUser} key */
  async function remove({ id: keyId, name: called }) {
    const path = { id, keyId };
    await settled(list, T.deleted({ name: called }), {
      title: T.deleteTitle({ name: called }),
      text: T.deleteText,
      confirm: T.delete,
      danger: true,
      act: () => page.call("DELETE", "/api/user/{id}/keys/{keyId}", { path }),
    });
  }

  return isService ? list : h("div", { class: "body" }, h("p", { class: "help" }, T.persons), list);
}
