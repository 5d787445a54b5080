/**
 * Follow the events of the account that `session` has identified, until `signal` is aborted or another user signs in.
 * `changed` is called in each tab when roles, codes, menus or operations have changed, and when the session has ended:
 * `end` is the name of that event. By default it calls `identify`, which then asks for a login. `menus` then gets the
 * tree of `session.menus()`. `happened` is called with each named event, such as `role.given`, and with `sessions`.
 * @param {Session} session
 * @param {{
 *   changed?: (event: OwnEvent) => unknown,
 *   menus?: (tree: any) => unknown,
 *   happened?: (event: OwnEvent) => unknown,
 *   signal?: AbortSignal,
 * }} [options]
 */
export function follow(session: Session, { changed, menus, happened, signal }?: {
    changed?: (event: OwnEvent) => unknown;
    menus?: (tree: any) => unknown;
    happened?: (event: OwnEvent) => unknown;
    signal?: AbortSignal;
}): Promise<void>;
import type { Session } from "./portcullis.js";
import type { OwnEvent } from "./types.js";
