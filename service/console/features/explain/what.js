// @ts-check
/** What a role, a user or a holder of codes may do. */
import { card, h } from "../../core/dom.js";
import { access } from "../../parts/access.js";
import {
  answering,
  chosenField,
  codesIn,
  holderFields,
  instantField,
  question as asks,
} from "../../parts/policy.js";
import { codes } from "../../parts/suggestions.js";
import { POLICY as T } from "../../strings/policy.js";

const SUBJECTS = ["userName", "roleCode", "codes"];

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
  return asks(
    page,
    [
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
      chosenField({
        name: "codes",
        label: T.permissions,
        value: value("codes"),
        help: T.permissionsHelp,
        required: false,
        wrap: codes(page, { several: true }),
      }),
      instantField(value("at")),
    ],
    ({ subject, ...values }) => ({ [subject]: values[subject] ?? " ", at: values.at }),
  );
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
