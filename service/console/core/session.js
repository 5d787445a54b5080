// @ts-check
/** The session of this browser: that of the client, typed by the operations of the API. */
import { Session } from "../client/portcullis.js";
import { translateAnswer } from "./refusals.js";

/** @typedef {import("../client/types.js").Me} Me */

/** The most characters of a user name: names from directories may be email addresses. */
export const LONGEST_USER_NAME = 254;

const { tokenName = "Authorization", tokenPrefix = "Bearer " } = document.documentElement.dataset;
/** The address to whose pages passkeys belong; undefined if the service has none for them. */
export const { passkeys } = document.documentElement.dataset;

/**
 * A session whose answers have their sentences in the language of the page. Its deliberate end leaves no names in the
 * browser, which others may use too.
 */
class ConsoleSession extends Session {
  /** @param {import("../client/types.js").SessionOptions} options */
  constructor(options) {
    super(options);
    const send = this.call;
    /** @type {Session["call"]} */
    const call = async (method, template, options) => {
      const answer = await send(method, template, options);
      await translateAnswer(answer);
      return answer;
    };
    this.call = call;
  }

  /** @param {boolean} [everywhere] */
  async signOut(everywhere) {
    // Loaded first, as the page ends with the session; without it, the session still ends.
    const remembered = await import("../parts/remembered.js").catch(() => null);
    const { me } = this;
    await super.signOut(everywhere);
    if (me) remembered?.forgetFilters(me.id);
  }
}

/** @type {Omit<Session, "call"> & {call: import("../types/call.js").Call}} */
export const session = /** @type {any} */ (
  new ConsoleSession({ device: "console", header: [tokenName, tokenPrefix] })
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
