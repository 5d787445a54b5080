// @ts-check
/** Requests for roles: their state, for how long, and what is done about them. */
import { badge, badges, button, definition, h } from "../../core/dom.js";
import * as queue from "../../core/queue.js";
import { settled } from "../../parts/dialog.js";
import { agreed, attempt } from "../../parts/preview.js";
import { endOf } from "../../parts/role-endings.js";
import { table } from "../../parts/rows.js";
import { roleName } from "../../parts/seed.js";
import { time, timeText } from "../../parts/time.js";
import { REQUESTS as T } from "./strings.js";

/** @typedef {import("../../core/queue.js").AccessRequest} AccessRequest */

const ONE = "/api/access-request/{id}";
const CLOSING = "/api/access-request/{id}/closing";
const KINDS = /** @type {Record<string, string>} */ ({
  pending: "info",
  approved: "good",
  denied: "bad",
  failed: "bad",
});

/** Return what has become of a request, in badges. @param {AccessRequest} request */
export function stateOf(request) {
  const { state, emergency, closed } = request;
  const end = endOf(request);
  return badges(
    badge(T.states[state] ?? state, KINDS[state]),
    end !== null && end <= Date.now() && badge(T.over),
    emergency && badge(T.emergency, "warn"),
    emergency && state === "approved" && closed === null && badge(T.open, "warn"),
  );
}

/** Return for how long the role is asked for. @param {AccessRequest} request */
export function lasting({ duration, until }) {
  return duration ? T.duration(duration) : until && T.until({ time: timeText(until) });
}

/**
 * Return the buttons for what the caller may do about a request, by the service's answer.
 * @param {Page} page @param {AccessRequest} request
 */
export function acts(page, request) {
  const own = request.userId === page.me.id;
  const may = (/** @type {"approve" | "deny" | "close"} */ decision) => request.mayDecide?.includes(decision);
  return {
    approve:
      may("approve") &&
      page.may(`POST ${ONE}/decision`) &&
      button(T.approve, () => approve(page, request), { kind: "primary", icon: "check" }),
    deny:
      may("deny") &&
      page.may(`POST ${ONE}/decision`) &&
      button(T.deny, () => deny(page, request), { kind: "danger", icon: "close" }),
    withdraw:
      own &&
      request.state === "pending" &&
      page.may(`DELETE ${ONE}`) &&
      button(T.withdraw, () => withdraw(page, request)),
    close:
      may("close") &&
      page.may(`POST ${CLOSING}`) &&
      button(T.close, () => close(page, request), { kind: "primary", icon: "check" }),
  };
}

const REASON = {
  name: "reason",
  label: T.decisionReason,
  type: "textarea",
  required: true,
  help: T.decisionReasonHelp,
  attributes: { maxlength: 500, rows: "2" },
};

/** Return what shows the request as it is now, and how many wait. @param {Page} page */
const anew = (page) => ({
  reload: () => {
    queue.read().catch(() => {}); // the list of them says what is wrong
    return page.reload();
  },
});

/** @param {Page} page @param {AccessRequest} request */
function approve(page, request) {
  const { id, userName } = request;
  const role = roleName(request);
  const title = T.approveTitle({ role, user: userName });
  return attempt(title, async () => {
    await settled(anew(page), T.approved({ role, user: userName }), {
      title,
      text: asked(request),
      confirm: T.preview,
      extra: [REASON, { name: "until", label: T.earlier, type: "datetime", help: T.earlierHelp }],
      act: (values, { box }) =>
        agreed({
          box,
          title: T.approveSure({ role, user: userName }),
          more: (after) => h("p", null, outlook(after)),
          confirm: T.approve,
          write: (dryRun) =>
            page.call("POST", `${ONE}/decision`, {
              path: { id },
              body: { decision: "approve", .../** @type {any} */ (values) },
              dryRun,
            }),
        }),
    });
  });
}

/** Return what follows from an approval, by its dry run. @param {AccessRequest} request */
function outlook({ state, from, stages }) {
  if (state === "approved") return T.given;
  const passed = stages.every(({ counted, approvals }) => counted >= approvals);
  return passed && from ? T.givenLater({ from: timeText(from) }) : T.others;
}

/** @param {Page} page @param {AccessRequest} request */
function deny(page, request) {
  const { id, userName } = request;
  const role = roleName(request);
  return settled(anew(page), T.denied({ role, user: userName }), {
    title: T.denyTitle({ role, user: userName }),
    text: [asked(request), h("p", null, T.denyText)],
    confirm: T.deny,
    danger: true,
    extra: [REASON],
    act: ({ reason }) =>
      page.call("POST", `${ONE}/decision`, { path: { id }, body: { decision: "deny", reason } }),
  });
}

/** @param {Page} page @param {AccessRequest} request */
function withdraw(page, request) {
  const { id } = request;
  const role = roleName(request);
  return settled(anew(page), T.withdrawn({ role }), {
    title: T.withdrawTitle({ role }),
    text: T.withdrawText,
    confirm: T.withdraw,
    danger: true,
    act: () => page.call("DELETE", ONE, { path: { id } }),
  });
}

/** @param {Page} page @param {AccessRequest} request */
function close(page, request) {
  const { id, userName } = request;
  const role = roleName(request);
  return settled(anew(page), T.closed({ user: userName }), {
    title: T.closeTitle({ role, user: userName }),
    text: T.closeText,
    confirm: T.close,
    extra: [REASON],
    act: (body) => page.call("POST", CLOSING, { path: { id }, body }),
  });
}

/** Return who approves, by stage, and how many have. @param {AccessRequest["stages"]} stages */
export function approvers(stages) {
  return table(
    T.stages,
    [T.stage, T.approver, T.counted],
    stages.map(({ code, approvals, counted, approvers: able }, place) => [
      String(place + 1),
      h(
        "div",
        null,
        h("code", null, code),
        able &&
          counted < approvals &&
          h("p", { class: "help" }, able.length ? T.able(able) : T.nobodyApproves),
      ),
      badges(T.of({ counted, all: approvals }), counted >= approvals && badge(T.passed, "good")),
    ]),
  );
}

/** Return what is asked for, in words. @param {AccessRequest} request */
export function asked(request) {
  return definition([
    [T.how, lasting(request)],
    request.state === "approved"
      ? [T.window, [time(request.from), " – ", time(request.until)]]
      : [T.from, time(request.from)],
    [T.reason, request.reason && h("q", null, request.reason)],
    [T.ticket, request.ticket],
  ]);
}
