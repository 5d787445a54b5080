// @ts-check
/** The caller's own account: the profile, and the password. */
import { card, h } from "../core/dom.js";
import { tell } from "../parts/dialog.js";
import { form, merging } from "../parts/form.js";
import { ACCOUNT as T } from "../strings/account.js";
import { FORM } from "../strings/form.js";

const MEMBERS = ["nickName", "email", "phone", "gender", "avatar"];

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  page.title(T.title);
  const profile = await merging({
    read: () => page.call("GET", "/api/user/profile"),
    write: (values, { etag }) => page.call("PUT", "/api/user/profile", { body: values, ifMatch: etag }),
    pick: (data) => Object.fromEntries(MEMBERS.map((name) => [name, data[name]])),
    form: (data) => ({
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
      ],
    }),
    saved: async () => {
      tell(FORM.saved);
      await page.reload();
    },
  });
  page.put(
    h(
      "div",
      { class: "cards" },
      card(T.profile, profile),
      card(T.password, h("p", { class: "help" }, T.passwordText), password(page)),
    ),
  );
}

/** @param {import("../core/page.js").Page} page */
function password(page) {
  const made = form({
    // For password managers.
    before: h("input", { type: "text", autocomplete: "username", value: page.me.name, hidden: true }),
    fields: [
      {
        name: "currentPassword",
        label: T.current,
        type: "password",
        required: true,
        attributes: { autocomplete: "current-password" },
      },
      {
        name: "newPassword",
        label: T.fresh,
        type: "password",
        required: true,
        attributes: { autocomplete: "new-password" },
      },
      {
        name: "repeated",
        label: T.repeat,
        type: "password",
        required: true,
        attributes: { autocomplete: "new-password" },
        check: (value) => (value === made.values().newPassword ? null : T.differs),
      },
    ],
    submit: T.change,
    save: async ({ currentPassword, newPassword }) => {
      await page.call("PUT", "/api/user/profile/password", { body: { currentPassword, newPassword } });
      made.fill({ currentPassword: "", newPassword: "", repeated: "" });
      tell(T.changed);
    },
  });
  return made;
}
