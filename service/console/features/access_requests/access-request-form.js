// @ts-check
/** Asks for a role: by its code, or after a refusal, which names role and decision. */
import { card, definition, h, link } from "../../core/dom.js";
import { REQUESTS as PATH } from "../../navigation.js";
import { tell } from "../../parts/dialog.js";
import { form } from "../../parts/form.js";
import { lasting } from "../../parts/lasting.js";
import { agreed } from "../../parts/preview.js";
import { roleDescription, roleName } from "../../parts/seed.js";
import { roleCodes } from "../../parts/suggestions.js";
import { coming } from "../../parts/time.js";
import { approvers } from "./acts.js";
import { facts, requestableRole } from "./catalogue.js";
import { REQUESTS as T } from "./strings.js";

const HOUR = 3600;
const DAY = 24 * HOUR;

/** @param {Page} page */
export async function show(page) {
  const { roleCode, decisionId } = Object.fromEntries(page.query);
  const role = await requestableRole(page, roleCode);
  page.crumbs([PATH, T.title]);
  const named = (/** @type {string} */ code) => (code === role?.roleCode ? roleName(role) : code);
  page.title(roleCode ? T.askRole({ role: named(roleCode) }) : T.ask);
  const made = form({
    subject: (values) => T.subject({ role: values.roleCode && named(values.roleCode) }),
    fields: [
      {
        name: "roleCode",
        label: T.code,
        required: true,
        value: roleCode,
        help: T.codeHelp,
        most: 64,
        code: true,
        wrap: roleCodes(page),
      },
      {
        name: "reason",
        label: T.reason,
        type: "textarea",
        required: role?.reasonRequired,
        help: T.reasonHelp,
        most: 500,
      },
      { name: "lasts", label: T.lasts, type: "select", required: true, options: Object.entries(T.lasting) },
      {
        name: "duration",
        label: T.amount,
        type: "custom",
        help: role ? T.atMost(role.maxDuration) : undefined,
        check: (seconds) => (role && seconds > role.maxDuration ? T.atMost(role.maxDuration) : null),
        control: lasting("duration", role ? Math.min(role.maxDuration, DAY) : HOUR, role?.maxDuration),
        only: ({ lasts }) => lasts === "duration",
      },
      { name: "until", label: T.end, type: "datetime", only: ({ lasts }) => lasts === "until" },
      { name: "from", label: T.from, type: "datetime", help: T.fromHelp },
      { name: "ticket", label: T.ticket, help: T.ticketHelp, most: 128 },
    ],
    before: decisionId && refusal(page, decisionId),
    submit: T.preview,
    cancel: () => history.back(),
    save: async (values, { key, form: shown }) => {
      const given = Object.entries({ ...values, lasts: null, decisionId });
      const body = Object.fromEntries(given.filter(([, value]) => value));
      const { data } = await agreed({
        title: T.askTitle({ role: named(values.roleCode) }),
        more: foreseen,
        confirm: T.send,
        write: (dryRun) => page.call("POST", "/api/access-request", { body, key, dryRun }),
      });
      shown.clean();
      tell((data.state === "approved" ? T.got : T.asked)({ role: roleName(data) }));
      page.go(`${PATH}/${data.id}`);
    },
  });
  page.put(
    h("p", null, T.askText),
    role && card(roleName(role), role.description && h("p", null, roleDescription(role)), facts(role)),
    made,
  );
}

/** @param {Page} page @param {string} decisionId */
function refusal(page, decisionId) {
  const id = h("code", null, decisionId);
  const shown = page.may("POST /api/policy/explain")
    ? link(`/policy/explain?${new URLSearchParams({ decisionId })}`, id)
    : id;
  return definition([[T.refusal, shown]]);
}

/** Return what becomes of a request, by its dry run. @param {import("../../types/api").AccessRequest} request */
function foreseen({ emergency, stages, deadline }) {
  if (emergency) return h("p", { class: "note warn" }, T.askNow);
  return h(
    "div",
    { class: "body" },
    h("p", null, T.askFirst),
    approvers(stages),
    definition([[T.deadline, coming(deadline)]]),
  );
}
