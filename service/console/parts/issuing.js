// @ts-check
/** What people issue for their own account, for a time, such as API keys: the list, and the form below it. */
import { button, card, h } from "../core/dom.js";
import { settled } from "./dialog.js";
import { form } from "./form.js";
import { lasting } from "./lasting.js";
import { whole } from "./local.js";
import { picker } from "./picker.js";
import { codesIn } from "./policy.js";
import { scopesOf } from "./scopes.js";
import { codes } from "./suggestions.js";
import { listing } from "./table.js";

/** @typedef {import("./form.js").Field} Field */

/** Return a field for several codes. @param {Page} page @param {Field} field @returns {Field} */
export function codeField(page, field) {
  return { code: true, wrap: codes(page, { several: true }), ...field };
}

/**
 * Show the list of what is issued, and the form that issues more; the form asks for permissions and a length of time.
 * @param {Page} page
 * @param {object} kind
 * @param {any} kind.texts
 * @param {{items: any[], maxExpiresIn: number}} kind.first What the first request has read.
 * @param {() => Promise<{data: {items: any[]}}>} kind.read Reads the list again.
 * @param {import("./table.js").Listing["columns"]} kind.columns
 * @param {(item: any) => string} kind.nameOf
 * @param {(item: any) => Promise<any>} kind.end
 * @param {Field[]} kind.fields What the form asks for before the permissions,
 * @param {Field[]} [kind.more] and after them.
 * @param {number} kind.usual How many seconds it lasts unless the reader chooses otherwise.
 * @param {(values: any) => Promise<any>} kind.make
 * @param {(item: any) => import("../core/dom.js").Child} kind.shown Returns what is shown of a new one, to be copied.
 * @param {import("../core/dom.js").Child} [kind.instead] Stands in the place of the form.
 */
export async function issuing(page, kind) {
  const { texts: T, first, read, nameOf, end } = kind;
  /** @type {any[] | null} */ let items = first.items;
  const list = listing(page, {
    caption: T.caption,
    columns: kind.columns,
    load: async () => {
      const all = items ?? (await read()).data.items;
      items = null;
      return whole(all);
    },
    buttons: (item) =>
      button(T.end, () => revoke(item), {
        "aria-label": T.endOf({ name: nameOf(item) }),
        "data-key": item.id,
      }),
    empty: h("p", { class: "empty" }, T.none),
  });
  /** What was made last: its only copy. */
  const made = h("div", { "aria-live": "polite" });
  const revoke = (/** @type {any} */ item) => {
    const name = nameOf(item);
    return settled(list, T.ended({ name }), {
      title: T.endTitle({ name }),
      text: T.endText,
      confirm: T.end,
      danger: true,
      act: async () => {
        await end(item);
        made.replaceChildren();
      },
    });
  };
  if (kind.instead) return page.put(list, card(T.make, kind.instead));
  const lifetime = Math.min(kind.usual, first.maxExpiresIn);
  const control = lasting("expiresIn", lifetime, first.maxExpiresIn);
  /** @type {Field[]} */ const fields = [
    ...kind.fields,
    {
      name: "codes",
      label: T.codes,
      help: T.codesHelp,
      type: "custom",
      control: picker(await scopesOf(page), []),
    },
    codeField(page, { name: "patterns", label: T.patterns, help: T.patternsHelp }),
    ...(kind.more ?? []),
    { name: "expiresIn", label: T.endsAfter, type: "custom", required: true, control },
  ];
  const blank = Object.fromEntries(fields.map(({ name, value = "" }) => [name, value]));
  const create = form({
    before: h("p", { class: "help" }, T.about),
    fields,
    submit: T.make,
    quiet: true,
    save: async ({ codes: chosen, patterns, ...values }) => {
      const { data } = await kind.make({ ...values, codes: [...new Set([...chosen, ...codesIn(patterns)])] });
      create.fill({ ...blank, codes: [], expiresIn: lifetime });
      const shown = card(T.madeTitle({ name: nameOf(data) }), h("p", null, T.madeText), kind.shown(data));
      made.replaceChildren(shown);
      shown.querySelector("input")?.focus();
      await list.reload();
    },
  });
  page.put(made, list, card(T.make, create));
}
