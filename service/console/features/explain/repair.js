// @ts-check
/** The answer of an explanation in a sentence, and the ways from a refusal to its repair. */
import { actions, button, h, linkButton, pieces } from "../../core/dom.js";
import { assign } from "../../parts/assignments.js";
import { OWN } from "../../parts/resources.js";
import { attempt } from "../../parts/preview.js";
import { requestOf } from "../../parts/request-line.js";
import { allRoles } from "../../parts/roles.js";
import { roleName } from "../../parts/seed.js";
import { layersOf } from "../../pictures/access.js";
import { POLICY, REPAIR as T } from "../../strings/policy.js";
import { demandsText } from "../../strings/step-up.js";

/** The most roles whose permissions are read, to offer the smallest. */
const COMPARED = 8;

/** @typedef {import("../../core/dom.js").Child} Child */
/** @typedef {import("../../types/api").Explained} Explained */
/** @typedef {import("../../types/api").Layer} Layer */
/** @typedef {{userName?: string | null, roleCode?: string | null, request: string}} Asked */

/**
 * Return the answer: who may do what or not, and the reason.
 * @param {Explained} explained @param {Asked} asked
 */
export function verdict(explained, { userName, roleCode, request }) {
  const { allowed, keptOut, permissions } = explained;
  const who =
    userName ?? (roleCode ? POLICY.role({ name: roleCode }) : permissions ? POLICY.holder : POLICY.visitor);
  const may = allowed && !keptOut;
  return [
    `${who} ${may ? T.may : T.mayNot} ${request}: `,
    may ? passed(explained) : refused(explained, userName),
    ".",
  ];
}

/** Return why a question is allowed. @param {Explained} explained @returns {Child} */
function passed(explained) {
  if (explained.public) return T.everybody;
  const fired = layersOf(explained).flatMap((layer) => layer.fired);
  const given = fired.find(({ origins }) => origins.length > 0);
  if (given) return [T.gives({ role: given.origins[0].roleCode }), " ", h("code", null, given.code)];
  return fired.length > 0 ? [T.held, " ", h("code", null, fired[0].code)] : T.everyLogin;
}

/** Return why a question is refused. @param {Explained} explained @param {string | null} [userName] @returns {Child} */
function refused(explained, userName) {
  if (explained.keptOut) return T.keptOut;
  const layer = denying(explained)[0];
  if (!layer) {
    const { assurance } = explained;
    const demand = [assurance?.resource, assurance?.endpoint].find((each) => each && !each.allowed);
    if (!demand) return T.noRoute;
    return T.demands({
      demand: demandsText(demand.lines.map((line) => line.split(", ").pop() ?? "")) || POLICY.closedDemand,
    });
  }
  if (layer.layer === "assurance") return T.demands({ demand: demandsText(layer.required) });
  if (layer.reason === "not_logged_in") return T.signIn;
  if (layer.reason !== "not_held")
    return layer.wouldOpen?.disabledButtons.length ? T.disabledButton : T.closed;
  const codes = layer.required.map((code, place) => [place > 0 && T.or, h("code", null, code)]);
  return [userName ? T.noRoleGives : T.notHeld, " ", codes];
}

/** Return the layers that refuse. @param {Explained} explained */
function denying(explained) {
  return layersOf(explained).filter((layer) => !layer.allowed);
}

/**
 * Return the acts that repair a refusal, as far as the caller may do them, and the way to the revision.
 * @param {Page} page @param {Explained} explained @param {Asked} asked @param {string | null} [decisionId]
 */
export async function repairs(page, explained, { userName, request }, decisionId) {
  const layers = denying(explained);
  const roles = layers
    .map(({ wouldOpen }) => wouldOpen?.roles ?? [])
    .reduce(
      (some, others) => some.filter((role) => others.includes(role)),
      layers[0]?.wouldOpen?.roles ?? [],
    );
  const own = userName === page.me.name;
  const reason = T.reason(request, decisionId);
  const { revision } = explained;
  // The first code of each layer would be enough; a word such as @login is none.
  const least = [...new Set(layers.map(({ required }) => required[0] ?? "@"))].join();
  const ways = await Promise.all([
    own && roles.length > 0 && asking(page, roles, decisionId),
    layers.some(({ layer }) => layer === "resource") && binding(page, explained),
  ]);
  const offered = [
    !own &&
      userName &&
      roles.length > 0 &&
      page.may("POST /api/user/{id}/roles") &&
      page.may("GET /api/user/list") &&
      page.may("GET /api/role/list") &&
      button(T.give, () => give(page, userName, roles, reason), { kind: "primary", icon: "plus" }),
    !own &&
      /^[^@]+$/.test(least) &&
      page.may("POST /api/role") &&
      linkButton(`/roles/new?${new URLSearchParams({ permissions: least })}`, T.newRole),
    ...ways,
    revision > 0 &&
      page.may("GET /api/policy/revisions/{revision}") &&
      linkButton(`/policy/revisions/${revision}`, T.openRevision({ n: revision })),
  ].filter(Boolean);
  return offered.length > 0 && actions(pieces(offered));
}

/**
 * Assign one of the roles that would open what was refused, after a preview.
 * @param {Page} page @param {string} userName @param {string[]} codes @param {string} reason
 */
function give(page, userName, codes, reason) {
  return attempt(T.give, async () => {
    const [{ data }, all] = await Promise.all([
      page.call("GET", "/api/user/list", { query: { userName, size: 200 } }),
      allRoles(page),
    ]);
    const user = data.items.find((each) => each.userName === userName);
    if (!user) throw new Error(T.noUser({ name: userName }));
    const roles = all.filter(({ roleCode }) => codes.includes(roleCode));
    await assign(page, user, { roles, role: await smallest(page, roles), reason });
  });
}

/**
 * Return the role that gives least; undefined if that is not known, and for roles with wildcards alone.
 * @param {Page} page @param {import("../../types/api").Role[]} roles
 */
async function smallest(page, roles) {
  if (roles.length > COMPARED || !page.may("GET /api/role/{id}/permissions")) return undefined;
  const sized = await Promise.all(
    roles.map(async (role) => {
      const { data } = await page.call("GET", "/api/role/{id}/permissions", { path: { id: role.id } });
      const { permissions } = data;
      return { role, size: permissions.some((code) => code.includes("*")) ? Infinity : permissions.length };
    }),
  );
  return sized.filter(({ size }) => size < Infinity).toSorted((first, second) => first.size - second.size)[0]
    ?.role;
}

/**
 * Return the way to ask for one of the roles; null if the caller may ask for none.
 * @param {Page} page @param {string[]} roles @param {string | null} [decisionId]
 */
async function asking(page, roles, decisionId) {
  if (!page.may("GET /api/access-request/role/list")) return null;
  const { data } = await page.call("GET", "/api/access-request/role/list", { query: { size: 200 } });
  const role = data.items.find(({ roleCode }) => roles.includes(roleCode));
  if (!role) return null;
  const query = new URLSearchParams({ roleCode: role.roleCode, ...(decisionId && { decisionId }) });
  return linkButton(`/access-requests/new?${query}`, T.ask({ role: roleName(role) }), { kind: "primary" });
}

/**
 * Return the way to bind the resource that refuses; null without first.
 * @param {Page} page @param {Explained} explained
 */
async function binding(page, { resource }) {
  const place = requestOf(resource?.object ?? "");
  if (!place || !page.may("PUT /api/resource/{id}/buttons") || !page.may("GET /api/resource/list"))
    return null;
  const { data } = await page.call("GET", "/api/resource/list", { query: { ...place, size: 200 } });
  const same = data.items.find(
    (each) =>
      each.method === place.method && each.path === place.path && each.service === (place.service ?? OWN),
  );
  return same ? linkButton(`/resources/${same.id}`, T.bind, { icon: "link" }) : null;
}
