// @ts-check
/** The steps of an explanation: who asks, and what each layer says. */
import { badge, bullets, definition, h, link } from "../../core/dom.js";
import { TROUBLE, enumerated, LIST } from "../../strings/common.js";
import { POLICY as T } from "../../strings/policy.js";
import { demandsText } from "../../strings/step-up.js";
import { USERS } from "../../strings/users.js";
import { copyable } from "../../parts/copy.js";
import { codes } from "../../parts/policy.js";
import { requestLine } from "../../parts/request-line.js";
import { OWN } from "../../parts/resources.js";
import { menuTitle } from "../../parts/seed.js";
import { coming, time } from "../../parts/time.js";

const MOST_LINES = 30;
const MOST_CODES = 60;

/** @typedef {import("../../types/api").Layer} Layer */

/**
 * Return whose refusal was found, of what and where.
 * @param {Page} page
 * @param {import("../../types/api").FoundRefusal} refusal
 */
export function refusalOf(page, { log, createTime, requestId, userId, userName, service, method, path }) {
  const name = userName ?? (userId === null ? T.visitor : String(userId));
  const request = h("code", null, requestId);
  return definition([
    [T.refusedTime, time(createTime)],
    [T.refusedUser, page.linked("user", userId, name)],
    [
      T.refusedRequest,
      method === null || path === null
        ? T.ofService
        : requestLine(method, path, service === OWN ? null : service),
    ],
    [
      TROUBLE.request,
      requestId &&
        (page.may("GET /api/operation-log/list")
          ? link(`/logs/operations?${new URLSearchParams({ requestId })}`, request)
          : request),
    ],
    [T.foundIn, T.foundLogs[log]],
  ]);
}

/** @param {URLSearchParams} query @param {import("../../types/api").Explained} answer */
export function subjectStep(query, { permissions, userStatus, refusal }) {
  const [user, role] = [query.get("userName") ?? refusal?.userName, query.get("roleCode")];
  const held = permissions ?? [];
  return h(
    "li",
    { class: "info" },
    h(
      "h3",
      null,
      user ? T.user({ name: user }) : role ? T.role({ name: role }) : permissions ? T.holder : T.visitor,
      " ",
      userStatus && userStatus !== "enabled" && badge(USERS.statuses[userStatus] ?? userStatus, "bad"),
    ),
    permissions &&
      h(
        "p",
        null,
        refusal?.log === "decision-log" ? T.held : T.holds,
        " ",
        held.length ? codes(held.slice(0, MOST_CODES)) : T.holdsNothing,
        held.length > MOST_CODES && ` … ${held.length - MOST_CODES}`,
      ),
  );
}

/**
 * Return what a layer says: its lines with the one that decides marked, and why, or what would open it.
 * @param {Page} page
 * @param {Layer} layer
 * @param {string | null} note
 */
export function layerStep(page, layer, note) {
  const first = [...layer.lines].sort((a, b) => Number(b === layer.line) - Number(a === layer.line));
  return h(
    "li",
    { class: layer.allowed ? "good" : "bad" },
    h(
      "h3",
      null,
      T.layers[layer.layer] ?? layer.layer,
      " ",
      badge(layer.allowed ? T.allowed : T.denied, layer.allowed ? "good" : "bad"),
    ),
    note && h("p", null, note),
    h(
      "p",
      null,
      T.asks,
      " ",
      h("code", null, layer.object),
      ". ",
      T.objectNotes[layer.object],
      " ",
      T.reasons[layer.layer === "assurance" && !layer.allowed ? "not_met" : layer.reason],
    ),
    layer.lines.length
      ? h(
          "ul",
          { class: "lines", "aria-label": T.linesOf },
          first
            .slice(0, MOST_LINES)
            .map((line) =>
              h(
                "li",
                line === layer.line ? { class: "decides" } : null,
                h("code", null, line),
                line === layer.line && [" ", badge(T.deciding, "good")],
              ),
            ),
          first.length > MOST_LINES && h("li", null, T.moreLines({ n: first.length - MOST_LINES })),
        )
      : h("p", null, T.noLines),
    layer.rows.length > 0 &&
      h(
        "p",
        null,
        enumerated(layer.rows.map((row) => T.rows[row] ?? row)),
        layer.until && [LIST.comma, T.until, " ", coming(layer.until)],
        ".",
      ),
    layer.fired.length > 0 &&
      bullets(layer.fired, ({ code, predicate, origins }) => [
        h("code", null, code),
        ` ${T.rows[predicate] ?? predicate}`,
        origins.length > 0 && [
          ` ${T.from} `,
          origins.map((origin, place) => [
            place > 0 && LIST.semicolon,
            T.fromRole({ role: origin.roleCode }),
            " (",
            page.linked("menu", origin.buttonId, menuTitle({ authMark: code, title: origin.buttonTitle })),
            ")",
            decided(origin),
          ]),
        ],
      ]),
    layer.wouldOpen && opening(page, layer.wouldOpen),
    h("p", { class: "request" }, T.id, " ", copyable(layer.decisionId)),
  );
}

/**
 * Return since when and until when a user has the role of an origin, who decided that, and why.
 * @param {import("../../types/api").Origin} origin
 */
function decided({ assignmentId, since, until, createdBy, reason }) {
  if (assignmentId === null) return null;
  return [
    LIST.comma,
    since ? [T.assignedSince, " ", time(since)] : T.sinceUnknown,
    LIST.comma,
    until ? [T.until, " ", coming(until)] : T.endless,
    createdBy && `, ${T.assignedBy({ name: createdBy })}`,
    reason && [": ", h("q", null, reason)],
  ];
}

/**
 * Return how strongly the caller must have authenticated, and whether that is met.
 * @param {import("../../types/api").Assurance} assurance
 */
export function assuranceStep({ met, satisfied, resource, endpoint }) {
  const demands = [resource, endpoint].filter((layer) => layer !== null);
  const words = (/** @type {Layer} */ { lines }) => lines.map((line) => line.split(", ").pop() ?? "");
  return h(
    "li",
    { class: met ? "good" : "bad" },
    h("h3", null, T.layers["assurance"], " ", badge(met ? T.met : T.notMet, met ? "good" : "bad")),
    bullets(demands, (layer) => [
      h("code", null, layer.object),
      `: ${demandsText(words(layer)) || T.closedDemand} `,
      badge(layer.allowed ? T.met : T.notMet, layer.allowed ? "good" : "bad"),
      h("p", { class: "request" }, T.id, " ", copyable(layer.decisionId)),
    ]),
    h("p", null, T.satisfies, " ", codes(satisfied)),
  );
}

/** @param {Page} page @param {import("../../types/api").Opening} wouldOpen */
function opening(page, { permissions, roles, buttons, disabledButtons }) {
  if (!permissions.length && !roles.length && !buttons.length && !disabledButtons.length)
    return h("p", null, T.wouldNothing);
  const some = (
    /** @type {readonly any[]} */ all,
    /** @type {(item: any) => import("../../core/dom.js").Child} */ shown,
  ) =>
    all.length > 0 && [
      all.slice(0, MOST_LINES).map((item) => [shown(item), " "]),
      all.length > MOST_LINES && `… ${all.length - MOST_LINES}`,
    ];
  return h(
    "div",
    { class: "would" },
    h("h4", null, T.wouldOpen),
    definition([
      [T.wouldCodes, some(permissions, (code) => h("code", null, code)) || null],
      [
        T.wouldRoles,
        some(roles, (role) =>
          page.may("GET /api/role/list")
            ? link(`/roles?roleCode=${encodeURIComponent(role)}`, role)
            : badge(role),
        ) || null,
      ],
      [T.wouldButtons, some(buttons, (each) => page.linked("menu", each.id, menuTitle(each))) || null],
      [T.disabledButtons, some(disabledButtons, (code) => h("code", null, code)) || null],
    ]),
  );
}
