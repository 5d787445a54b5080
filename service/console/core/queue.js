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
 * True if the service lets the caller close a request, or approve it in a stage that needs approvals.
 * @param {AccessRequest} request
 */
function waits({ mayDecide, stages }) {
  if (!mayDecide?.includes("approve")) return mayDecide?.includes("close") ?? false;
  const held = session.me?.permissions ?? [];
  return stages.some(
    ({ code, counted, approvals }) => counted < approvals && held.some((each) => covers(each, code)),
  );
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
  const waiting = [...given.data.items, ...pending.data.items].filter(waits);
  hooks.counted(waiting.length);
  return waiting;
}
