// @ts-check
/** The catalogue of the roles that the caller may ask for. */
import { actions, badge, bullets, card, definition, empty, h, linkButton } from "../../core/dom.js";
import { session } from "../../core/session.js";
import { REQUESTS as PATH } from "../../navigation.js";
import { roleDescription, roleName } from "../../parts/seed.js";
import { FRAME } from "../../strings/frame.js";
import { REQUESTS as T } from "./strings.js";

/** The most roles that are read at once. */
const MOST = 200;
/** Above so many roles there is a search. */
const AT_ONCE = 6;
/** How many Buttons of an area a role names. */
const NAMED = 4;

/** @typedef {import("../../types/api").RequestableRole & {waiting?: number}} Offered */

/**
 * Read roles that the caller may ask for, with the request for one that waits already.
 * @param {Page} page @param {{size?: number}} [query]
 * @returns {Promise<{items: Offered[], total: number}>}
 */
export async function requestableRoles(page, query = { size: MOST }) {
  const own = { userId: page.me.id, state: "pending", size: MOST };
  const [{ data }, pending] = await Promise.all([
    page.call("GET", "/api/access-request/role/list", { query }),
    page.call("GET", "/api/access-request/list", { query: own }),
  ]);
  const waiting = new Map(pending.data.items.map(({ roleCode, id }) => [roleCode, id]));
  return { ...data, items: data.items.map((role) => ({ ...role, waiting: waiting.get(role.roleCode) })) };
}

/**
 * Return a role that the caller may ask for; null if it is none of these.
 * @param {Page} page @param {string | undefined} code
 */
export async function requestableRole(page, code) {
  if (!code || !page.may("GET /api/access-request/role/list")) return null;
  return (await requestableRoles(page)).items.find(({ roleCode }) => roleCode === code) ?? null;
}

/** @param {Page} page */
export async function show(page) {
  const { decisionId } = Object.fromEntries(page.query);
  page.crumbs([PATH, T.title]);
  page.title(T.catalogue);
  const { items } = await requestableRoles(page);
  if (items.length === 0) return page.put(empty(T.noRoles));
  const cards = items.map((role) => roleCard(role, decisionId));
  const search = () => {
    const text = field.value.trim().toLowerCase();
    for (const each of cards) each.hidden = !each.textContent?.toLowerCase().includes(text);
  };
  const field = h("input", { type: "search", name: "keyword", autocomplete: "off", oninput: search });
  page.put(
    h("p", null, T.askText),
    items.length > AT_ONCE && h("label", { class: "filter" }, h("span", null, T.searchRoles), field),
    h("div", { class: "cards" }, cards),
  );
}

/** @param {Offered} role @param {string} [decisionId] The refusal that leads to the question. */
function roleCard(role, decisionId) {
  return card(
    roleName(role),
    h("p", null, h("code", null, role.roleCode), " ", held(role)),
    role.description && h("p", null, roleDescription(role)),
    facts(role),
    actions(asking(role, decisionId)),
  );
}

/** Return what a role is good for, how long it lasts, and who approves it. @param {Offered} role */
export function facts(role) {
  return definition([
    [T.opensRole, opened(role)],
    [T.longest, T.duration(role.maxDuration)],
    [role.emergency ? T.closedBy : T.approvedBy, approval(role)],
  ]);
}

/** Return a role as a row of home. @param {Page} page @param {Offered} role */
export function roleRow(page, role) {
  return {
    text: [h("strong", null, roleName(role)), " ", held(role)],
    help: roleDescription(role) ?? opened(role),
    act: page.may("POST /api/access-request") && asking(role),
  };
}

/** @param {Offered} role @param {string} [decisionId] */
function asking({ roleCode, roleName: stored, waiting }, decisionId) {
  if (waiting !== undefined) return linkButton(`${PATH}/${waiting}`, T.states.pending);
  const query = new URLSearchParams({ roleCode, ...(decisionId && { decisionId }) });
  const anchor = linkButton(`${PATH}/new?${query}`, FRAME.ask);
  anchor.setAttribute("aria-label", T.askFor({ role: roleName({ roleCode, roleName: stored }) }));
  return anchor;
}

/** @param {Offered} role */
function held({ roleCode }) {
  return session.me?.roles.includes(roleCode) && badge(T.youHaveIt, "good");
}

/** Return what a role opens in words, area by area. @param {Offered} role */
function opened({ opens }) {
  if (opens.length === 0) return T.opensNothing;
  return bullets(
    opens,
    ({ menu, buttons }) => [menu && `${menu}: `, T.titles(buttons.slice(0, NAMED), buttons.length)],
    { class: "plain" },
  );
}

/** Return who approves, stage by stage. @param {Offered} role */
function approval({ stages }) {
  return bullets(
    stages,
    ({ code, approvals, approvers }) =>
      !approvers
        ? [`${T.holdersOf({ n: approvals })} `, h("code", null, code)]
        : approvers.length > 0
          ? T.names(approvers, approvals)
          : T.nobodyApproves,
    { class: "plain" },
  );
}
