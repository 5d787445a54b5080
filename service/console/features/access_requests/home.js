// @ts-check
/** What home shows of requests for roles: those that wait for the caller, the caller's own, and roles to ask for. */
import { actions, badge, h, link, linkButton } from "../../core/dom.js";
import * as queue from "../../core/queue.js";
import { REQUESTS as PATH } from "../../navigation.js";
import { block, rows } from "../../parts/block.js";
import { coming, time } from "../../parts/time.js";
import { roleName } from "../../parts/seed.js";
import { acts, lasting, stateOf } from "./acts.js";
import { requestableRoles, roleRow } from "./catalogue.js";
import { REQUESTS as T } from "./strings.js";

/** How many requests, and how many roles, home shows. */
const SHOWN = 5;
const OFFERED = 3;

/** @typedef {import("./acts.js").AccessRequest} AccessRequest */

/** Return what home shows, by its place. @param {Page} page */
export async function part(page) {
  return {
    waiting: () => waiting(page),
    own: [
      block(page, T.own, () => ownRequests(page), { quiet: true }),
      page.may("GET /api/access-request/role/list") &&
        !page.me.permissions.includes("*") &&
        block(page, T.catalogue, () => offered(page), { quiet: true }),
    ],
  };
}

/** Return the requests that wait for the caller, with what they decide; null for none. @param {Page} page */
async function waiting(page) {
  const all = await queue.read();
  if (all.length === 0) return null;
  return [
    rows(all.slice(0, SHOWN).map((request) => waitingRow(page, request))),
    all.length > SHOWN && h("p", { class: "help" }, link(`${PATH}/waiting`, T.allWaiting({ n: all.length }))),
  ];
}

/** @param {Page} page @param {AccessRequest} request */
function waitingRow(page, request) {
  const { id, userName, emergency, reason, state, deadline } = request;
  const role = roleName(request);
  const { approve, deny, close } = acts(page, request);
  return {
    mark: emergency && badge(T.emergency, "warn"),
    text: link(
      `${PATH}/${id}`,
      state === "pending" ? T.asks({ user: userName, role }) : T.took({ user: userName, role }),
    ),
    help: [
      lasting(request),
      reason && [" · ", h("q", null, reason)],
      state === "pending" && [" · ", T.deadline.toLowerCase(), " ", coming(deadline)],
    ],
    act: actions(deny, approve || close),
  };
}

/** Return the latest requests of the caller; null for none. @param {Page} page */
async function ownRequests(page) {
  const query = { userId: page.me.id, size: SHOWN };
  const { data } = await page.call("GET", "/api/access-request/list", { query });
  if (data.items.length === 0) return null;
  return [
    rows(
      data.items.map((request) => ({
        text: [link(`${PATH}/${request.id}`, roleName(request)), " ", stateOf(request)],
        help: [
          lasting(request),
          " · ",
          T.created.toLowerCase(),
          " ",
          time(request.createTime, { ago: true }),
        ],
        act: acts(page, request).withdraw,
      })),
    ),
    data.total > SHOWN && h("p", { class: "help" }, link(`${PATH}/own`, T.allOwn({ n: data.total }))),
  ];
}

/** Return the first roles that the caller may ask for; null for none. @param {Page} page */
async function offered(page) {
  const { items, total } = await requestableRoles(page, { size: OFFERED });
  if (total === 0) return null;
  return [
    rows(items.map((role) => roleRow(page, role))),
    actions(linkButton(`${PATH}/roles`, T.allRoles({ n: total }))),
  ];
}
