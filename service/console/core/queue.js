// @ts-check
/** Which requests for roles wait for the caller's decision, and how many. */
import { covers } from "../parts/codes.js";
import { session } from "./session.js";

/** @typedef {import("../types/api").AccessRequest} AccessRequest */

const LIST = "/api/access-request/list";

/** The most requests that are read: the oldest deadlines first. */
const MOST = 200;

/** Is told the number, whenever it is read. */
export const hooks = { counted: /** @type {(count: number) => void} */ (() => {}) };

/**
 * True if the caller may decide about a request, as far as their permissions tell; the service decides that itself.
 * @param {AccessRequest} request
 */
export function decides({ state, userId, stages, decisions }) {
  const { me } = session;
  if (!me || state !== "pending" || userId === me.id) return false;
  return holds(stages) && !decisions.some((decision) => decision.userId === me.id);
}

/** True if the caller holds the permission of a stage. @param {AccessRequest["stages"]} stages */
export function holds(stages) {
  return stages.some(({ code }) => session.me?.permissions.some((held) => covers(held, code)));
}

/** True if the caller may close the emergency that a request was, as `decides`. @param {AccessRequest} request */
export function closes({ state, emergency, closed, userId, stages }) {
  return emergency && state === "approved" && closed === null && userId !== session.me?.id && holds(stages);
}

/**
 * Read what waits for the caller: first the emergencies that nobody has closed, then the requests, the first to expire
 * first. Throws `Problem`.
 */
export async function read() {
  const [given, pending] = await Promise.all([
    session.call("GET", LIST, { query: { state: "approved", sort: "-id", size: MOST } }),
    session.call("GET", LIST, { query: { state: "pending", sort: "deadline", size: MOST } }),
  ]);
  const open = (/** @type {AccessRequest} */ { stages }) =>
    stages.filter(({ counted, approvals }) => counted < approvals);
  const waiting = [
    ...given.data.items.filter(closes),
    ...pending.data.items.filter((request) => decides(request) && holds(open(request))),
  ];
  hooks.counted(waiting.length);
  return waiting;
}
