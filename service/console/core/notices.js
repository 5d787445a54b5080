// @ts-check
/** How many notices about the own account the caller has not read. */
import { session } from "./session.js";

/** Is told the number, whenever it is read. */
export const hooks = { counted: /** @type {(count: number) => void} */ (() => {}) };

/** Tell the number. @param {number} unread */
export function count(unread) {
  hooks.counted(unread);
}

/** Read the number. Throws `Problem`. */
export async function read() {
  const { data } = await session.call("GET", "/api/user/profile/notices", { query: { size: 1 } });
  count(data.unread);
}
