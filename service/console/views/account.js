// @ts-check
/** The caller's own account: the profile, the password and the second factors, which have an address of their own. */
import { badge, badges, button, card, definition, h } from "../core/dom.js";
import { refresh } from "../core/frame.js";
import { session } from "../core/session.js";
import { LANGUAGES, useLanguage } from "../core/texts.js";
import { block } from "../parts/block.js";
import { tell } from "../parts/dialog.js";
import { factors } from "../parts/factors.js";
import { form, merging } from "../parts/form.js";
import { ownOrigins } from "../parts/origins.js";
import { CURRENT, password } from "../parts/password.js";
import { attempt } from "../parts/preview.js";
import { areThere } from "../parts/providers.js";
import { rights } from "../parts/rights.js";
import { endings } from "../parts/role-endings.js";
import { attempting } from "../parts/trouble.js";
import { ACCOUNT as T } from "../strings/account.js";
import { FACTORS } from "../strings/factors.js";
import { FRAME } from "../strings/frame.js";
import { RIGHTS } from "../strings/home.js";
import { ORIGINS } from "../strings/providers.js";
import { ENDINGS } from "../strings/role-endings.js";

const MEMBERS = ["nickName", "email", "phone", "gender", "avatar", "language", "timeZone"];

/** @param {Page} page */
export async function show(page) {
  page.title(
    T.title,
    button(FRAME.signOut, () => attempt(FRAME.signOut, () => session.signOut()), {
      icon: "log-out",
      "data-key": "sign-out",
    }),
  );
  /** @type {import("../types/api").OwnProfile | null} */ let stored = null;
  const profile = await merging({
    read: async () => {
      const answer = await page.call("GET", "/api/user/profile");
      stored = answer.data;
      return answer;
    },
    write: ({ currentPassword, ...values }, { etag }) => {
      const body = currentPassword ? { ...values, currentPassword } : values;
      return page.call("PUT", "/api/user/profile", { body, ifMatch: etag });
    },
    pick: (data) => Object.fromEntries(MEMBERS.map((name) => [name, data[name]])),
    form: (data) => ({
      subject: () => T.subject,
      fields: [
        {
          name: "nickName",
          label: T.nickName,
          required: true,
          value: data.nickName,
          attributes: { autocomplete: "nickname", maxlength: 64 },
        },
        {
          name: "email",
          label: T.email,
          type: "email",
          value: data.email,
          attributes: { autocomplete: "email" },
        },
        { ...CURRENT, help: T.currentHelp },
        {
          name: "phone",
          label: T.phone,
          type: "tel",
          value: data.phone,
          attributes: { autocomplete: "tel" },
        },
        {
          name: "gender",
          label: T.gender,
          type: "select",
          value: data.gender,
          options: Object.entries(T.genders),
        },
        { name: "avatar", label: T.avatar, value: data.avatar, help: T.avatarHelp },
        {
          name: "language",
          label: T.language,
          type: "select",
          value: data.language,
          options: Object.entries(LANGUAGES).map(([tag, { name }]) => [tag, name]),
          unset: T.languageUnset,
        },
        {
          name: "timeZone",
          label: T.timeZone,
          type: "select",
          value: data.timeZone,
          options: zones(data.timeZone),
          unset: T.zoneUnset,
          help: T.zoneHelp,
        },
      ],
    }),
    saved: async () => {
      tell(T.saved);
      await refresh(); // who the caller is, and the zone and its name in the frame
      if (await useLanguage(session.me?.language)) {
        if (document.documentElement.dataset.session !== "tab") return location.reload();
        tell(T.languageLater);
      }
      await page.reload();
    },
  });
  const may = await rights(page);
  const passwords = password(page.me.name, async (body) => {
    await page.call("PUT", "/api/user/profile/password", { body });
    passwords.fill({ currentPassword: "", newPassword: "", repeated: "" });
    tell(T.changed);
  });
  const own = card(FACTORS.title, h("p", { class: "help" }, FACTORS.about), factors(page));
  const sought = page.path === "/account/factors";
  page.put(
    sought && own,
    h(
      "div",
      { class: "cards" },
      card(T.profile, profile, stored && unconfirmed(page, stored)),
      card(T.password, h("p", { class: "help" }, T.passwordText), passwords),
    ),
    block(page, ENDINGS.title, () => endings(page), { quiet: true }),
    areThere() && block(page, ORIGINS.title, () => ownOrigins(page)),
    !sought && own,
    card(
      RIGHTS.title,
      definition([
        [
          RIGHTS.roles,
          page.me.roles.length > 0 ? badges(page.me.roles.map((role) => badge(role))) : RIGHTS.noRoles,
        ],
      ]),
      may,
    ),
  );
}

/** Return the time zones that the browser knows, with that of the account. @param {string | null} own */
function zones(own) {
  return [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone"), ...(own ? [own] : [])])].sort();
}

/**
 * Return what an address that is not confirmed yet lacks, where mails are sent: a link opened there, or agreement.
 * @param {Page} page
 * @param {import("../types/api").OwnProfile} profile
 */
function unconfirmed(page, { email, emailVerified, emailAgreed, emailReached, recoveryEmail }) {
  if (!document.documentElement.dataset.mail || !email || emailVerified) return null;
  const send = async () => {
    await page.call("POST", "/api/user/profile/email/verification");
    tell(T.confirmationSent({ email }));
  };
  return h(
    "div",
    { class: "note" },
    h("p", null, T.unconfirmed({ email, before: recoveryEmail })),
    !emailReached && attempting(T.confirm, {}, send),
    !emailAgreed && agreement(page, email),
  );
}

/**
 * Return what asks whether an address that somebody else has set is to be the one for forgotten passwords.
 * @param {Page} page
 * @param {string} email
 */
function agreement(page, email) {
  return form({
    before: h("p", null, T.agreeText),
    fields: [CURRENT],
    submit: T.agree,
    quiet: true,
    save: async ({ currentPassword }) => {
      const body = { email, currentPassword };
      await page.call("POST", "/api/user/profile/email/agreement", { body });
      tell(T.agreed);
      await page.reload();
    },
  });
}
