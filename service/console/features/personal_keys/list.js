// @ts-check
/** The API keys of the own account: made here, shown once, and revoked. */
import { button, card, h } from "../../core/dom.js";
import { ask, tell } from "../../parts/dialog.js";
import { form } from "../../parts/form.js";
import { COLUMNS } from "../../parts/keys.js";
import { lasting } from "../../parts/lasting.js";
import { whole } from "../../parts/local.js";
import { toCopy } from "../../parts/once.js";
import { picker } from "../../parts/picker.js";
import { codesIn } from "../../parts/policy.js";
import { scopesOf } from "../../parts/scopes.js";
import { codes } from "../../parts/suggestions.js";
import { listing } from "../../parts/table.js";
import { PERSONAL_KEYS as T } from "./strings.js";

const KEYS = "/api/user/profile/keys";
/** How long a key lasts unless the reader chooses otherwise: 90 days, in seconds. */
const USUAL = 7_776_000;

/** @param {Page} page */
export async function show(page) {
  page.title(T.title);
  const [{ data }, scopes] = await Promise.all([page.call("GET", KEYS), scopesOf(page)]);
  /** @type {typeof data.items | null} */ let read = data.items;
  const list = listing(page, {
    caption: T.caption,
    columns: COLUMNS,
    load: async () => {
      const items = read ?? (await page.call("GET", KEYS)).data.items;
      read = null;
      return whole(items);
    },
    buttons: (apiKey) =>
      button(T.revoke, () => revoke(apiKey), {
        "aria-label": T.revokeOf({ name: apiKey.name }),
        "data-key": apiKey.id,
      }),
    empty: h("p", { class: "empty" }, T.none),
  });
  /** The key that was made last: its only copy. */
  const made = h("div", { "aria-live": "polite" });
  const lifetime = Math.min(USUAL, data.maxExpiresIn);
  const blank = { name: "", scopes: [], patterns: "", expiresIn: lifetime };
  const create = form({
    before: h("p", { class: "help" }, T.about),
    fields: [
      { name: "name", label: T.name, help: T.nameHelp, required: true, most: 64 },
      { name: "scopes", label: T.scopes, help: T.scopesHelp, type: "custom", control: picker(scopes, []) },
      {
        name: "patterns",
        label: T.patterns,
        help: T.patternsHelp,
        code: true,
        wrap: codes(page, { several: true }),
      },
      {
        name: "expiresIn",
        label: T.expiresAfter,
        type: "custom",
        required: true,
        control: lasting("expiresIn", lifetime, data.maxExpiresIn),
      },
    ],
    submit: T.make,
    quiet: true,
    save: async ({ name, scopes: chosen, patterns, expiresIn }) => {
      const body = { name, scopes: [...new Set([...chosen, ...codesIn(patterns)])], expiresIn };
      const { data: stored } = await page.call("POST", KEYS, { body });
      create.fill(blank);
      const shown = card(
        T.madeTitle({ name: stored.name }),
        h("p", null, T.madeText),
        toCopy(T.key, stored.key),
      );
      made.replaceChildren(shown);
      shown.querySelector("input")?.focus();
      await list.reload();
    },
  });
  page.put(made, list, card(T.make, create));

  /** @param {import("../../types/api").KeyOfUser} key */
  async function revoke({ id: keyId, name }) {
    const revoked = await ask({
      title: T.revokeTitle({ name }),
      text: T.revokeText,
      confirm: T.revoke,
      danger: true,
      act: () => page.call("DELETE", `${KEYS}/{keyId}`, { path: { keyId } }),
    });
    if (!revoked) return;
    made.replaceChildren();
    tell(T.revoked({ name }));
    await list.reload();
  }
}
