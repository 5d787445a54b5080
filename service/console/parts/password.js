// @ts-check
/** The form that changes the own password. */
import { h } from "../core/dom.js";
import { ACCOUNT as T } from "../strings/account.js";
import { form } from "./form.js";

/** The field of the current password. */
export const CURRENT = {
  name: "currentPassword",
  label: T.current,
  type: "password",
  attributes: { autocomplete: "current-password" },
};

/**
 * @param {string} name The user name, for password managers.
 * @param {(body: {currentPassword: string, newPassword: string}) => Promise<any>} send
 */
export function password(name, send) {
  const made = form({
    before: h("input", { type: "text", autocomplete: "username", value: name, hidden: true }),
    fields: [{ ...CURRENT, required: true }, ...fresh("newPassword", () => made.values())],
    submit: T.change,
    save: ({ currentPassword, newPassword }) => send({ currentPassword, newPassword }),
  });
  return made;
}

/**
 * Return the fields of a new password, typed twice.
 * @param {string} name
 * @param {() => Record<string, any>} values Those of the form.
 * @returns {import("./form.js").Field[]}
 */
export function fresh(name, values) {
  const common = { type: "password", required: true, attributes: { autocomplete: "new-password" } };
  const check = (/** @type {any} */ value) => (value === values()[name] ? null : T.differs);
  return [
    { ...common, name, label: T.fresh },
    { ...common, name: "repeated", label: T.repeat, check },
  ];
}
