// @ts-check
/** The session of this browser: that of the client, typed by the operations of the API. */
import { Session } from "../client/portcullis.js";

/** @typedef {import("../client/types.js").Me} Me */

/** The most characters of a user name: names from directories may be email addresses. */
export const LONGEST_USER_NAME = 254;

const { tokenName = "Authorization", tokenPrefix = "Bearer ", passkeys } = document.documentElement.dataset;

/** @type {Omit<Session, "call"> & {call: import("../types/call.js").Call}} */
export const session = /** @type {any} */ (
  new Session({ device: "console", header: [tokenName, tokenPrefix] })
);

/**
 * True if this page can ask for passkeys: they belong to its address, and the browser knows them.
 */
export function takesPasskeys() {
  return passkeys === location.origin && "PublicKeyCredential" in window;
}

/** Return those of the methods to prove who one is that this page can ask for. @param {readonly string[]} methods */
export function usable(methods) {
  return methods.filter((method) => method !== "passkey" || takesPasskeys());
}
