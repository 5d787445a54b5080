// @ts-check
/** What a refusal of the API means to the reader. */
import { Problem } from "../client/portcullis.js";
import { bullets, button, h, icon, link, linkButton } from "../core/dom.js";
import { session, usable } from "../core/session.js";
import { timeText } from "../core/locale.js";
import { ACTION, REFUSALS, RULES, TROUBLE, enumerated } from "../strings/common.js";
import { STEP_UP } from "../strings/step-up.js";

/**
 * Return what a refusal means, with the id of the request; `retry` gives a button where trying again can help. What the
 * service says itself is shown where it says more.
 * @param {unknown} problem
 * @param {(() => any) | null} [retry]
 * @param {string} [subject] What has not been done, such as "Role Clerk was not saved".
 * @param {string} [heading] What stands above it: a title that says the same is left out.
 */
export function trouble(problem, retry, subject, heading) {
  if (!(problem instanceof Problem)) {
    if (!(problem instanceof DOMException && problem.name === "AbortError")) console.warn(problem);
    return box("bad", heading === TROUBLE.inConsole ? "" : TROUBLE.inConsole, [
      h("p", null, String(problem)),
    ]);
  }
  const { status, code, document, detail } = problem;
  const { title, text, complete } = meaning(problem);
  const listed = complete || document.cannotReturn; // the list below says it, record by record
  const repeat = code === "outdated" ? () => location.reload() : retry;
  const assurance = document.layer === "assurance";
  const codes = assurance ? "" : enumerated(document.required ?? []);
  const again = status === 0 || status === 429 || status >= 500;
  const named = subject ? `${subject}: ${title}` : title;
  return box(status >= 500 || status === 0 ? "warn" : "bad", heading === named ? "" : named, [
    text && h("p", null, text),
    !listed && detail && detail !== problem.title && h("p", null, detail),
    document.until && h("p", null, TROUBLE.bannedUntil({ time: timeText(document.until) })),
    codes &&
      h("p", null, document.needed === "all" ? TROUBLE.needsAll({ codes }) : TROUBLE.needsAny({ codes })),
    assurance && demanded(document),
    problem.violations.length > 0 &&
      bullets(problem.violations, (violation) => [
        violation.row && `${violation.row}: `,
        violation.field && h("strong", null, violation.field),
        " ",
        violation.message,
      ]),
    conflicts(document),
    session.mayCall("POST /api/access-request") && requestable(document),
    problem.retryAfter !== undefined && again && h("p", null, TROUBLE.wait({ seconds: problem.retryAfter })),
    repeat && again && h("p", null, button(ACTION.retry, repeat, { icon: "refresh" })),
    requested(problem),
  ]);
}

/**
 * Shows what has gone wrong where nothing of the act is left on the page. Set by `dialog.js`, which is there wherever
 * something can be closed.
 * @type {{show: (title: string, problem: unknown) => void}}
 */
export const late = { show() {} };

/**
 * Return a button, and below it what a refusal of `act` means, with a way to try again.
 * @param {string} text
 * @param {Record<string, any>} options Those of `button`.
 * @param {() => Promise<any>} act
 */
export function attempting(text, options, act) {
  const notes = h("div", { class: "notes" });
  const attempt = async () => {
    notes.replaceChildren();
    try {
      await act();
    } catch (problem) {
      notes.replaceChildren(trouble(problem, attempt));
    }
  };
  return [button(text, attempt, options), notes];
}

/**
 * Return the refusal of a proof with its field, or that of a passkey without one; any other one as it is.
 * @param {unknown} problem @param {string} [field] @param {string} [wrong] What to say unless the service says more.
 */
export function notProved(problem, field, wrong = "") {
  if (!(problem instanceof Problem) || problem.code !== "login_failed") return problem;
  const { status, document, detail } = problem;
  const message = document.detailCode ? detail : wrong;
  return new Problem(status, {
    ...document,
    ...(field ? { errors: [{ field, message }] } : { rule: "passkey" }),
  });
}

/** The operations that save nothing: what they are refused for needs no word about it. */
const READING = /^GET |^POST \/api\/(?:auth\/|policy\/explain$)|\/options$/;

/** Return the title of what went wrong, for a page that can show nothing else. @param {unknown} problem */
export function titleOf(problem) {
  return problem instanceof Problem ? meaning(problem).title : TROUBLE.inConsole;
}

/** Where the texts of the console say all that the service's own does: by code, or by rule of a conflict. */
const COMPLETE = new Set([
  ...["login_failed", "account_banned", "account_disabled", "csrf_failed", "precondition_failed"],
  ...["rate_limited", "quota_exceeded", "revision_unknown", "request_under_way", "changed_meanwhile"],
  ...["link_invalid", "mail_not_configured"],
  ...["invariant", "last_administrator", "last_way_in", "way_back", "self", "sign_in_failed"],
  ...["insufficient_user_authentication", "passkey"],
]);

/** Return title and text of a code, a rule or a status, if there are some. @param {unknown} key */
function meant(key) {
  return [RULES, REFUSALS].find((texts) => Object.hasOwn(texts, String(key)))?.[String(key)];
}

/**
 * Return what a refusal means in the words of the console, by the most telling of its members, and whether these say
 * all that the service says.
 * @param {Problem} problem
 * @returns {{title: string, text: string, complete: boolean}}
 */
export function meaning({ status, code, document, operation }) {
  const { rule, layer } = document;
  const own = code === "conflict" && layer === "account" ? "self" : null;
  const key = [own, rule, code, status].find((name) => meant(name)) ?? "other";
  const [title, text] = meant(key) ?? [];
  const ordinary = code === "permission_denied" && ["resource", "endpoint"].includes(String(layer));
  const saving = operation !== undefined && !READING.test(operation);
  return {
    title,
    text: text === TROUBLE.notSaved && !saving ? "" : text,
    complete: ordinary || COMPLETE.has(String(key)),
  };
}

/**
 * Return the ids of the request that was refused and of the decision, by which the logs have it, and how; null for what
 * has none.
 * @param {unknown} problem
 */
export function requested(problem) {
  if (!(problem instanceof Problem) || !problem.requestId) return null;
  const { decisionId } = problem.document;
  const decision = decisionId && h("code", null, decisionId);
  return h(
    "p",
    { class: "request" },
    `${TROUBLE.request} `,
    h("code", null, problem.requestId),
    " · ",
    explained(problem),
    decision && [
      ` · ${TROUBLE.decision} `,
      session.mayCall("POST /api/policy/explain") && session.mayCall("GET /api/operation-log/{id}")
        ? link(`/policy/explain?${new URLSearchParams({ decisionId })}`, decision)
        : decision,
    ],
  );
}

/** Return status and code, as a link to what the pages of the API say about them. @param {Problem} problem */
function explained({ status, code, document: { type } }) {
  const text = `${status} ${code}`;
  if (!document.documentElement.dataset.api || !/^\/docs\/errors#[a-z-]+$/.test(type)) return text;
  return h("a", { href: type, target: "_blank", rel: "noopener" }, text);
}

/**
 * Return the way to ask for a role that would open what was refused; to the request where it waits already.
 * @param {Record<string, any>} document
 */
function requestable({ requestable: roles = [], decisionId, accessRequestId: waiting }) {
  const address = (/** @type {string} */ roleCode) =>
    `/access-requests/new?${new URLSearchParams({ roleCode, ...(decisionId && { decisionId }) })}`;
  return [
    waiting && h("p", null, link(`/access-requests/${waiting}`, TROUBLE.pendingOne)),
    roles.length > 0 && [
      h("p", null, roles.length > 1 ? TROUBLE.openings : TROUBLE.opening),
      h(
        "p",
        { class: "badges" },
        roles.map((/** @type {string} */ role) => linkButton(address(role), TROUBLE.askFor({ role }))),
        session.mayCall("GET /api/access-request/role/list") &&
          link(
            `/access-requests/roles${decisionId ? `?${new URLSearchParams({ decisionId })}` : ""}`,
            TROUBLE.allRoles,
          ),
      ),
    ],
  ];
}

/**
 * Return how strongly the caller has to authenticate, and what they have to do first.
 * @param {Record<string, any>} document
 */
function demanded({ required = [], methods = [] }) {
  return [
    h("p", null, STEP_UP.needs(required)),
    !methods.length && h("p", null, link("/account/factors", TROUBLE.enrolFirst)),
    methods.length > 0 && !usable(methods).length && h("p", null, TROUBLE.passkeyElsewhere),
  ];
}

/** @typedef {{name: string, reason: string, reasonParams: {roles?: string[]}}} Lost */

/** Return the way to a role that stands against a change. @param {string} roleCode */
function roleLink(roleCode) {
  const address = `/roles?${new URLSearchParams({ roleCode })}`;
  return session.mayCall("GET /api/role/list") && [" ", linkButton(address, roleCode)];
}

/**
 * Return what stands against a change: what uses a record, what it would close, which statements it would break.
 * @param {Record<string, any>} document
 */
function conflicts(document) {
  const counts = /** @type {Record<string, number>} */ ({
    users: document.userCount,
    children: document.childCount,
    roles: document.roleCount,
    resources: document.resourceCount,
  });
  const lists = Object.entries(TROUBLE.conflicts)
    .filter(([name]) => document[name]?.length)
    .map(([name, title]) =>
      h(
        "p",
        null,
        h("strong", null, title),
        ": ",
        enumerated(document[name]),
        counts[name] > document[name].length && TROUBLE.andMore({ n: counts[name] - document[name].length }),
      ),
    );
  const broken = (document.brokenInvariants ?? []).map(
    (/** @type {{name: string, reason: string, finding: string}} */ invariant) =>
      h("p", null, h("strong", null, invariant.name), ": ", invariant.finding, " (", invariant.reason, ")"),
  );
  const lost = (document.cannotReturn ?? []).map((/** @type {Lost} */ { name, reason, reasonParams }) =>
    h("li", null, h("strong", null, name), ": ", reason, reasonParams.roles?.map(roleLink)),
  );
  return [lists, broken, lost.length > 0 && h("ul", null, lost)];
}

/** @param {string} kind @param {string} title @param {import("../core/dom.js").Child[]} children */
function box(kind, title, children) {
  return h(
    "div",
    { class: `trouble ${kind}`, role: "alert" },
    icon("warn"),
    h("div", null, title && h("strong", null, title), children),
  );
}
