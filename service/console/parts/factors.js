// @ts-check
/** The caller's own second factors: apps, passkeys and the recovery codes that come with the first. */
import { button, h } from "../core/dom.js";
import { passkeys, takesPasskeys } from "../core/session.js";
import { FACTORS as T } from "../strings/factors.js";
import { ask, dialog, settled, tell } from "./dialog.js";
import { form } from "./form.js";
import { attempt } from "./preview.js";
import { recoveryCodes } from "./recovery-codes.js";
import { whole } from "./local.js";
import { listing } from "./table.js";
import { time } from "./time.js";

/** @param {Page} page */
export function factors(page) {
  const codes = button(T.newCodes, renew);
  codes.hidden = true;
  const list = listing(page, {
    caption: T.title,
    actions: [
      button(T.addApp, addApp, { icon: "plus" }),
      takesPasskeys() && button(T.addPasskey, addPasskey, { icon: "plus" }),
      codes,
    ],
    columns: [
      { title: T.name, cell: ({ kind, name }) => (kind === "recovery_codes" ? T.kinds[kind] : name) },
      { title: T.kind, cell: ({ kind }) => (kind === "recovery_codes" ? T.spare : T.kinds[kind]) },
      { title: T.added, cell: (factor) => time(factor.createTime) },
      { title: T.used, cell: (factor) => time(factor.lastUsedTime, { ago: true }) ?? T.unused },
    ],
    load: async () => {
      const { data } = await page.call("GET", "/api/user/profile/factors");
      codes.hidden = data.items.length === 0;
      return whole(data.items);
    },
    buttons: (factor) =>
      factor.kind !== "recovery_codes" &&
      button(T.remove, () => remove(factor), {
        "aria-label": `${T.remove}: ${factor.name}`,
        "data-key": factor.id,
      }),
    empty: h("p", { class: "empty" }, T.none),
  });

  /** Show the secret of a new app, and confirm its code. A second app gets a name first. */
  function addApp() {
    return attempt(T.addApp, async () => {
      /** @type {import("../types/api").NewApp | undefined} */ let app;
      const make = async (/** @type {{name?: string}} */ { name }) => {
        ({ data: app } = await page.call("POST", "/api/user/profile/factors/totp", { body: { name } }));
      };
      if (!list.rows().some(({ kind }) => kind === "totp")) await make({});
      else await ask({ title: T.addApp, confirm: T.next, extra: [nameField(T.appName)], act: make });
      const confirmed = app && (await confirmation(app));
      if (confirmed) await added(T.appAdded, confirmed.recoveryCodes);
    });
  }

  /**
   * Return the answer to the code of a new app; undefined when the reader gives up.
   * @param {import("../types/api").NewApp} app
   * @returns {Promise<import("../types/api").FirstCodes | undefined>}
   */
  async function confirmation({ id, secret, qr }) {
    const picture = h("img", { alt: T.qr, class: "qr", width: 200, height: 200 });
    picture.src = qr; // `h` lets no data URLs through
    const box = dialog(
      T.addApp,
      h("p", null, T.scan),
      picture,
      h("p", null, T.secret, " ", h("code", null, secret.replaceAll(/(.{4})(?=.)/g, "$1 "))),
      form({
        fields: [
          {
            name: "code",
            label: T.code,
            required: true,
            attributes: { autocomplete: "one-time-code", inputmode: "numeric", maxlength: 16 },
          },
        ],
        submit: T.confirm,
        quiet: true,
        trailing: true,
        cancel: () => box.close(),
        save: async ({ code }) => {
          const { data } = await page.call("POST", "/api/user/profile/factors/totp/{id}/confirm", {
            path: { id },
            body: { code: code.replaceAll(/\s/g, "") },
          });
          box.close(data);
        },
      }),
    );
    return box.closed;
  }

  /** Name a new passkey, and let the browser make it. */
  async function addPasskey() {
    /** @type {import("../types/api").NewPasskey | undefined} */ let passkey;
    await ask({
      title: T.addPasskey,
      text: T.passkeyText,
      confirm: T.next,
      extra: [nameField(T.passkeyName)],
      act: async ({ name }) => {
        const { make } = await import("./passkeys.js");
        const { data } = await page.call("POST", "/api/user/profile/factors/passkey/options");
        const credential = await make(data.publicKey);
        ({ data: passkey } = await page.call("POST", "/api/user/profile/factors/passkey", {
          body: { name, credential },
        }));
      },
    });
    if (passkey) await added(T.passkeyAdded, passkey.recoveryCodes);
  }

  /** @param {string} message @param {readonly string[] | null} first */
  async function added(message, first) {
    tell(message);
    await list.reload();
    if (first) await recoveryCodes(page.me.name, first);
  }

  async function renew() {
    /** @type {readonly string[] | undefined} */ let fresh;
    await ask({
      title: T.newCodesTitle,
      text: T.newCodesText,
      confirm: T.newCodes,
      act: async () => {
        fresh = (await page.call("POST", "/api/user/profile/factors/recovery-codes")).data.recoveryCodes;
      },
    });
    if (!fresh) return;
    await list.reload();
    await recoveryCodes(page.me.name, fresh);
  }

  /** @param {import("../types/api").SecondFactorOfUser} factor */
  async function remove({ id, name }) {
    const last = list.rows().filter(({ kind }) => kind !== "recovery_codes").length === 1;
    await settled(list, T.removed({ name }), {
      title: T.removeTitle({ name }),
      text: last ? T.removeLast : T.removeText,
      confirm: T.remove,
      danger: true,
      act: () => page.call("DELETE", "/api/user/profile/factors/{id}", { path: { id } }),
    });
  }

  return [list, !takesPasskeys() && h("p", { class: "help" }, T.noPasskeys({ address: passkeys ?? null }))];
}

/** @param {string} value */
function nameField(value) {
  return {
    name: "name",
    label: T.name,
    help: T.nameHelp,
    required: true,
    value,
    most: 64,
  };
}
