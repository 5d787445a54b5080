// @ts-check
/** The form that changes the own password. */
import { h } from "../core/dom.js";
import { ACCOUNT as T } from "../strings/account.js";
import { form } from "./form.js";

/**
 * @param {string} name The user name, for password managers.
 * @param {(body: {currentPassword: string, newPassword: string}) => Promise<any>} send
 */
export function password(name, send) {
  const made = form({
    before: h("input", { type: "text", autocomplete: "username", value: name, hidden: true }),
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
    save: ({ currentPassword, newPassword }) => send({ currentPassword, newPassword }),
  });
  return made;
}
