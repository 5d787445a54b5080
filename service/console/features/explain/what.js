// @ts-check
/** What a role, a user or a holder of codes may do. */
import { card, h } from "../../core/dom.js";
import { Problem } from "../../client/portcullis.js";
import { form } from "../../parts/form.js";
import { access } from "../../parts/access.js";
import {
  SPELLED,
  answering,
  asking,
  codesIn,
  holderFields,
  instantField,
  showing,
} from "../../parts/policy.js";
import { codes } from "../../parts/suggestions.js";
import { FORM } from "../../strings/form.js";
import { POLICY as T } from "../../strings/policy.js";

const SUBJECTS = ["userName", "roleCode", "codes"];

/** @typedef {import("../../core/page.js").Page} Page */

/** @param {Page} page */
export async function show(page) {
  page.title(T.tab.what);
  const shown = question(page);
  const answer = h("div", { class: "body" });
  page.put(h("p", null, T.whatText), card("", shown), answer);
  const name = SUBJECTS.find((subject) => page.query.has(subject));
  if (name) answering(page, shown, answer, () => answerTo(page, name));
}

/** @param {Page} page */
function question(page) {
  const value = (/** @type {string} */ name) => page.query.get(name);
  const made = form({
    fields: [
      {
        name: "subject",
        label: T.subject,
        type: "select",
        required: true,
        value: SUBJECTS.find((subject) => page.query.has(subject)) ?? "userName",
        options: [
          ["userName", T.userName],
          ["roleCode", T.roleCode],
          ["codes", T.permissions],
        ],
      },
      ...holderFields(page, value),
      {
        name: "codes",
        label: T.permissions,
        value: value("codes"),
        help: T.permissionsHelp,
        attributes: SPELLED,
        wrap: codes(page, { several: true }),
      },
      instantField(value("at")),
    ],
    submit: T.ask,
    quiet: true,
    save: ({ subject, ...values }) => {
      if (subject !== "codes" && !values[subject])
        throw new Problem(422, { errors: [{ field: subject, message: FORM.missing }] });
      return asking(page, { [subject]: values[subject] ?? " ", at: values.at });
    },
  });
  const fit = () => {
    const { subject } = made.values();
    showing(made, Object.fromEntries(SUBJECTS.map((name) => [name, name === subject])));
  };
  made.classList.add("question");
  made.addEventListener("change", fit);
  fit();
  return made;
}

/** @param {Page} page @param {string} name */
function answerTo(page, name) {
  const value = page.query.get(name) ?? "";
  const instant = page.query.get("at");
  /** @type {{at?: string}} */ const at = instant ? { at: instant } : {};
  if (name !== "codes") return access(page, { [name]: value, ...at });
  // Empty members are left out of an address: a comma stands for no code at all.
  const held = codesIn(value).join(",");
  return access(page, { codes: held || ",", ...at }, { permissions: held || " ", ...at });
}
