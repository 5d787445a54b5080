// @ts-check
/** What happened to a request for a role, along time: from the refusal to the end of the role. */
import { h, link } from "../../core/dom.js";
import { inWords, withChanges } from "../../parts/logs.js";
import { requestLine } from "../../parts/request-line.js";
import { countdown, endOf } from "../../parts/role-endings.js";
import { time, timeText } from "../../parts/time.js";
import { roleName } from "../../parts/seed.js";

import { REQUESTS as T } from "./strings.js";
import { enumerated } from "../../strings/common.js";

/** The most operations of the author that are told. */
const MOST = 20;

/** @typedef {import("../../core/dom.js").Child} Child */
/** @typedef {import("./acts.js").AccessRequest} AccessRequest */
/**
 * @typedef {object} Step
 * @property {string | null} at When; null if that is not known.
 * @property {Child} text
 * @property {string} [kind] good or bad.
 * @property {Child} [more] Stands below it.
 */

/**
 * Read what the caller may know of it, and return it as a list.
 * @param {Page} page @param {AccessRequest} request
 */
export async function story(page, request) {
  const [refused, assignment] = await Promise.all([refusal(page, request), assigned(page, request)]);
  const end = endOf(request);
  const ends = assignment?.endTime ?? (end === null ? null : new Date(end).toISOString());
  const given = request.state === "approved" ? request.endTime : null;
  const done = given ? await operations(page, request, given, ends) : [];
  const steps = [
    ...refused,
    asking(request),
    ...request.decisions.map(deciding),
    ...closing(request),
    ...outcome(request),
    ...done,
    ...(ends ? [ending(page, request, assignment, ends)] : []),
  ];
  const known = steps.filter(({ at }) => at).sort((a, b) => Date.parse(a.at ?? "") - Date.parse(b.at ?? ""));
  return h(
    "ol",
    { class: "path", "aria-label": T.story },
    [...steps.filter(({ at }) => !at), ...known].map(({ at, text, kind, more }) =>
      h("li", { class: kind }, h("p", null, text), at && h("small", null, time(at, { seconds: true })), more),
    ),
  );
}

/**
 * Return the refusal that the request came from.
 * @param {Page} page @param {AccessRequest} request @returns {Promise<Step[]>}
 */
async function refusal(page, { decisionId, userName }) {
  if (!decisionId) return [];
  const explains = page.may("POST /api/policy/explain") && page.may("GET /api/operation-log/{id}");
  const more = decision(decisionId, explains);
  const step = { at: null, text: T.steps.refusedBefore({ user: userName }), kind: "bad", more };
  if (!explains) return [step];
  try {
    const { data } = await page.call("POST", "/api/policy/explain", { body: { decisionId } });
    if (!data.refusal) return [step];
    const { createTime: at, method, path, userName: who } = data.refusal;
    const text =
      method && path
        ? [T.steps.refused({ user: who ?? userName }), " ", requestLine(method, path)]
        : step.text;
    return [{ ...step, at, text }];
  } catch (problem) {
    if (page.signal.aborted) throw problem;
    return [step]; // no log has it any more
  }
}

/** @param {string} decisionId @param {boolean} [explains] */
function decision(decisionId, explains = false) {
  const id = h("code", null, decisionId);
  const shown = explains ? link(`/policy/explain?${new URLSearchParams({ decisionId })}`, id) : id;
  return h("p", { class: "request" }, T.decisionId, " ", shown);
}

/** @param {string | null} reason */
function quoted(reason) {
  return reason && [": ", h("q", null, reason)];
}

/** @param {AccessRequest} request @returns {Step} */
function asking(request) {
  const { createTime: at, userName, reason, askedDecisionId } = request;
  return {
    at,
    text: [T.steps.asked({ user: userName, role: roleName(request) }), quoted(reason)],
    more: decision(askedDecisionId),
  };
}

/** @param {AccessRequest["decisions"][number]} made @returns {Step} */
function deciding({ userName, decision: verdict, reason, until, stages, decisionIds, createTime: at }) {
  const limits = [
    stages.length > 0 && T.steps.inStages(stages),
    until && T.steps.noLonger({ until: timeText(until) }),
  ].filter(Boolean);
  return {
    at,
    kind: verdict === "deny" ? "bad" : "good",
    text: [
      T.steps.decisions[verdict]({ user: userName }),
      limits.length > 0 && ` (${enumerated(limits)})`,
      quoted(reason),
    ],
    more: decisionIds.map((id) => decision(id)),
  };
}

/** Return that an emergency was closed. @param {AccessRequest} request @returns {Step[]} */
function closing({ closed }) {
  if (!closed) return [];
  return [
    {
      at: closed.time,
      kind: "good",
      text: [T.steps.closed({ user: closed.userName }), quoted(closed.reason)],
    },
  ];
}

/** Return what became of the request, or until when it waits. @param {AccessRequest} request @returns {Step[]} */
function outcome({ state, userName, endTime: at, endedBy, endReason, from, deadline, stages }) {
  switch (state) {
    case "pending":
      return from && stages.every(({ counted, approvals }) => counted >= approvals)
        ? [{ at: from, text: T.steps.waits }]
        : [{ at: deadline, text: T.steps.expires }];
    case "approved":
      return [
        { at, kind: "good", text: T.steps.given({ user: userName }) },
        ...(from && at && Date.parse(from) > Date.parse(at) ? [{ at: from, text: T.steps.begins }] : []),
      ];
    case "cancelled":
      return [{ at, kind: "bad", text: T.steps.cancelled({ user: endedBy ?? userName }) }];
    case "failed":
      return [{ at, kind: "bad", text: [T.steps.failed, endReason && `: ${endReason}`] }];
    case "expired":
      return [{ at, kind: "bad", text: T.steps.expired }];
    default:
      return []; // the denial is a decision
  }
}

/**
 * Return the assignment that was made, with how it ended; null if the caller may not know it.
 * @param {Page} page @param {AccessRequest} request
 */
async function assigned(page, { assignmentId, userId }) {
  if (assignmentId === null || !page.may("GET /api/user/{id}/roles")) return null;
  try {
    const query = { ended: true, size: 200 };
    const { data } = await page.call("GET", "/api/user/{id}/roles", { path: { id: userId }, query });
    return data.items.find(({ id }) => id === assignmentId) ?? null;
  } catch (problem) {
    if (page.signal.aborted) throw problem;
    return null; // its user may be deleted
  }
}

/**
 * Return how the role ended, or when it will.
 * @param {Page} page @param {AccessRequest} request
 * @param {Awaited<ReturnType<typeof assigned>>} assignment
 * @param {string} at
 * @returns {Step}
 */
function ending(page, { userName }, assignment, at) {
  if (assignment?.how === "revoked")
    return { at, kind: "bad", text: T.steps.revoked({ user: assignment.endedBy ?? userName }) };
  const end = Date.parse(at);
  if (end <= Date.now()) return { at, kind: "good", text: T.steps.ended };
  return { at, text: [T.steps.ends, ": ", countdown(page, end)] };
}

/**
 * Return what the author did while they had the role, for those who may read that.
 * @param {Page} page @param {AccessRequest} request @param {string} from @param {string | null} to
 * @returns {Promise<Step[]>}
 */
async function operations(page, { userName }, from, to) {
  if (!page.may("GET /api/operation-log/list")) return [];
  try {
    const query = { userName, from, to, dryRun: "false", size: MOST };
    const { data } = await page.call("GET", "/api/operation-log/list", { query });
    const { items } = await withChanges(page, data);
    const others = items.filter(({ module }) => !["access-request", "auth"].includes(module)); // told already
    return others.map((entry) => ({ at: entry.createTime, text: inWords(page, entry) }));
  } catch (problem) {
    if (page.signal.aborted) throw problem;
    return [];
  }
}
