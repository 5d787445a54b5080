// @ts-check
/** The rule by which a role is asked for: who may ask, who approves, and within which limits. Read, set and ended. */
import { Problem } from "../client/portcullis.js";
import { actions, button, card, definition, empty, h } from "../core/dom.js";
import { RULE as T } from "../strings/request-rule.js";
import { ACTION, enumerated } from "../strings/common.js";
import { demandOptions } from "../strings/step-up.js";
import { duration } from "../strings/words.js";
import { dialog, tell } from "./dialog.js";
import { merging } from "./form.js";
import { lasting } from "./lasting.js";
import { SPELLED } from "./policy.js";
import { agreed, attempt, saving } from "./preview.js";
import { rowEditor } from "./row-editor.js";
import { roleName } from "./seed.js";
import { codes } from "./suggestions.js";
import { edited } from "./time.js";

const RULE = "/api/role/{id}/request-rule";
const LOGIN = "@login";
/** As many as the service takes. */
const MOST_STAGES = 5;

/** @typedef {import("../types/api").Role} Role */
/** @typedef {import("../types/api").RequestRuleBody} Rule */
/** @typedef {import("../types/api").RequestRuleOfRole} Stored */
/** @typedef {Rule["stages"][number]} Stage */

/** What a new rule begins with. @type {Rule} */
const FRESH = {
  requestableBy: LOGIN,
  stages: [{ code: "", approvals: 1 }],
  maxDuration: 8 * 3600,
  pendingTimeout: 86_400,
  reasonRequired: true,
  grantNeeded: true,
  assurance: null,
  emergency: false,
};

/** Return the rule of a role with what the caller may do about it. @param {Page} page @param {Role} role */
export async function requestRule(page, role) {
  const { rule, etag } = await read(page, role);
  const sets = page.may(`PUT ${RULE}`);
  if (!rule)
    return empty(T.none, sets && button(T.make, () => edit(page, role), { icon: "plus", kind: "primary" }));
  return card(
    "",
    h("p", { class: "help" }, T.text),
    rule.suspended && h("p", { class: "note warn" }, T.suspended),
    shown(rule),
    actions(
      sets && button(T.change, () => edit(page, role), { icon: "edit" }),
      page.may(`DELETE ${RULE}`) &&
        button(T.end, () => end(page, role, etag), { kind: "danger", icon: "trash" }),
    ),
  );
}

/**
 * Read the rule of a role; null without one, with the tag of none.
 * @param {Page} page @param {Role} role @returns {Promise<{rule: Stored | null, etag: string | null}>}
 */
async function read(page, { id }) {
  try {
    const { data: rule, etag } = await page.call("GET", RULE, { path: { id } });
    return { rule, etag };
  } catch (problem) {
    if (problem instanceof Problem && problem.status === 404) return { rule: null, etag: '"0"' };
    throw problem;
  }
}

/** @param {Stored} rule */
function shown(rule) {
  return definition([
    [T.by, rule.requestableBy === LOGIN ? T.everybody : h("code", null, rule.requestableBy)],
    [
      T.stages,
      h(
        "ul",
        { class: "plain" },
        rule.stages.map(({ code, approvals }, place) =>
          h("li", null, T.needs({ place: place + 1, approvals }), " ", h("code", null, code)),
        ),
      ),
    ],
    [T.grantShort, rule.grantNeeded ? T.grantYes : T.grantNo],
    [T.maxDuration, duration(rule.maxDuration)],
    [T.pendingTimeout, duration(rule.pendingTimeout)],
    [T.reasonShort, rule.reasonRequired ? T.needed : T.notRequired],
    [T.assurance, demand(rule.assurance)],
    [T.emergency, rule.emergency && T.emergencyYes],
    [T.updated, edited(rule)],
  ]);
}

/** @param {Stored["assurance"]} assurance */
function demand(assurance) {
  return demandOptions().find(([key]) => key === assurance)?.[1] ?? T.noDemand;
}

/** Ask how a role is to be asked for, and save it after the preview. @param {Page} page @param {Role} role */
function edit(page, role) {
  const path = { id: role.id };
  const title = T.title({ role: roleName(role) });
  return attempt(title, async () => {
    /** @type {(saved?: boolean) => void} */ let close = () => {};
    const made = await merging({
      read: async () => {
        const { rule, etag } = await read(page, role);
        return { data: rule ?? FRESH, etag };
      },
      pick: (/** @type {Rule} */ rule) =>
        Object.fromEntries(Object.keys(FRESH).map((name) => [name, rule[/** @type {keyof Rule} */ (name)]])),
      form: (rule) => ({
        subject: () => T.subject({ role: roleName(role) }),
        fields: fields(page, rule),
        submit: ACTION.save,
        cancel: () => close(),
        quiet: true,
        trailing: true,
      }),
      text: (name, value) => (name === "stages" ? enumerated(value.map(T.stageText)) : undefined),
      write: async (values, { etag }) => {
        const body = /** @type {Rule} */ (values);
        await agreed({
          title: T.saveTitle({ role: roleName(role) }),
          text: T.saveText,
          confirm: ACTION.save,
          write: (dryRun) => page.call("PUT", RULE, { path, body, ifMatch: etag, dryRun }),
        });
        tell(T.saved({ role: roleName(role) }));
      },
      saved: () => close(true),
    });
    const box = dialog(title, made);
    close = box.close;
    if (await box.closed) await page.reload();
  });
}

/** @param {Page} page @param {Role} role @param {string | null} etag */
function end(page, role, etag) {
  return saving(page, {
    title: T.endTitle({ role: roleName(role) }),
    text: T.endText,
    confirm: T.end,
    danger: true,
    write: (dryRun) => page.call("DELETE", RULE, { path: { id: role.id }, ifMatch: etag, dryRun }),
    done: T.ended({ role: roleName(role) }),
  });
}

/** @param {Page} page @param {Rule} rule @returns {import("./form.js").Field[]} */
function fields(page, rule) {
  return [
    {
      name: "requestableBy",
      label: T.by,
      required: true,
      value: rule.requestableBy,
      help: T.byHelp,
      code: true,
      wrap: codes(page),
    },
    {
      name: "stages",
      label: T.stages,
      type: "custom",
      required: true,
      help: T.stagesHelp,
      control: stages(page, rule.stages),
    },
    {
      name: "maxDuration",
      label: T.maxDuration,
      type: "custom",
      required: true,
      control: lasting("maxDuration", rule.maxDuration),
    },
    {
      name: "pendingTimeout",
      label: T.pendingTimeout,
      type: "custom",
      required: true,
      control: lasting("pendingTimeout", rule.pendingTimeout),
    },
    { name: "reasonRequired", label: T.reasonRequired, type: "check", value: rule.reasonRequired },
    { name: "grantNeeded", label: T.grantRequired, type: "check", value: rule.grantNeeded },
    {
      name: "assurance",
      label: T.assurance,
      type: "select",
      options: demandOptions(),
      unset: T.noDemand,
      value: rule.assurance,
    },
    { name: "emergency", label: T.emergency, type: "check", value: rule.emergency, help: T.emergencyHelp },
  ];
}

/**
 * Return the control for stages: a permission and a number of people for each.
 * @param {Page} page @param {readonly Stage[]} given
 */
function stages(page, given) {
  const suggest = codes(page);
  return rowEditor({
    given,
    fresh: { code: "", approvals: 1 },
    kind: "stage",
    add: T.addStage,
    remove: (place) => T.removeStage({ place }),
    labels: [(place) => T.stage({ place }), (place) => T.approvals({ place })],
    least: 1,
    most: MOST_STAGES,
    make: ({ code, approvals }) => {
      const text = h("input", { type: "text", name: "code", value: code, autocomplete: "off", ...SPELLED });
      const value = String(approvals);
      const number = h("input", { type: "number", name: "approvals", min: "1", step: "1", value });
      return [suggest ? suggest(text) : text, number];
    },
    read: ([code, number]) => ({ code: code.value.trim(), approvals: Number(number.value) }),
  });
}
