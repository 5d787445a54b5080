// @ts-check
/** Who would gain and who would lose what if a user had other roles, or other codes were given or bound. */
import { Problem } from "../../client/portcullis.js";
import { card, h } from "../../core/dom.js";
import { answering, chosenField, codesIn, holderFields, question as asks } from "../../parts/policy.js";
import { side } from "../../parts/preview.js";
import { anyRequests, rolesOrCodes } from "../../parts/suggestions.js";
import { PREVIEW } from "../../strings/common.js";
import { FORM } from "../../strings/form.js";
import { POLICY as T, WHAT_IF } from "../../strings/policy.js";

const SUBJECTS = ["userName", "roleCode", "resource"];

/** @param {Page} page */
export async function show(page) {
  page.title(T.tab.whatIf);
  const shown = question(page);
  const answer = h("div", { "aria-live": "polite" });
  page.put(h("p", null, WHAT_IF.text), card("", shown), answer);
  if (SUBJECTS.some((name) => page.query.has(name))) answering(page, shown, answer, () => consequences(page));
}

/** @param {Page} page */
function question(page) {
  const value = (/** @type {string} */ name) => page.query.get(name);
  const changes = (/** @type {string} */ name, /** @type {string} */ label) => ({
    name,
    label,
    value: value(name),
    help: WHAT_IF.several,
    code: true,
    wrap: rolesOrCodes(page, () => made.values().subject === "userName"),
  });
  const made = asks(
    page,
    [
      {
        name: "subject",
        label: WHAT_IF.subject,
        type: "select",
        required: true,
        value: SUBJECTS.find((name) => page.query.has(name)) ?? "userName",
        options: Object.entries(WHAT_IF.subjects),
      },
      ...holderFields(page, value),
      chosenField({
        name: "resource",
        label: WHAT_IF.resource,
        value: value("resource"),
        help: WHAT_IF.resourceHelp(),
        wrap: anyRequests(page),
      }),
      changes("with", WHAT_IF.with),
      changes("without", WHAT_IF.without),
    ],
    ({ subject, with: given, without, ...values }) => {
      if (!given && !without) throw new Problem(422, { errors: [{ field: "with", message: FORM.missing }] });
      return { [subject]: values[subject], with: given, without };
    },
  );
  return made;
}

/** @param {Page} page */
async function consequences(page) {
  const { with: given, without, ...query } = Object.fromEntries(page.query);
  const { data } = await page.call("GET", "/api/policy/what-if", {
    query: { ...query, with: codesIn(given), without: codesIn(without) },
  });
  const { gains, loses } = data;
  return card(
    T.answer,
    h(
      "div",
      { class: "impact" },
      !gains.length && !loses.length && h("p", null, PREVIEW.nothing),
      side(PREVIEW.gains, gains, "good"),
      side(PREVIEW.loses, loses, "bad"),
      query.userName && h("p", { class: "help" }, WHAT_IF.user),
    ),
  );
}
