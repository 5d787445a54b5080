// @ts-check
/** The texts about agents that act for the caller. */
import { say, saying, texts } from "../../core/texts.js";

const T = /** @type {import("../../texts/en/agents.json")} */ (await texts("agents"));

export const APPROVALS = saying(T.APPROVALS, {
  callOf: (/** @type {string} */ name) => say(T.APPROVALS.callOf, { name }),
});

export const DELEGATIONS = saying(T.DELEGATIONS, {
  endOf: (/** @type {string} */ name) => say(T.DELEGATIONS.endOf, { name }),
  endTitle: (/** @type {string} */ name) => say(T.DELEGATIONS.endTitle, { name }),
  ended: (/** @type {string} */ name) => say(T.DELEGATIONS.ended, { name }),
  madeTitle: (/** @type {string} */ name) => say(T.DELEGATIONS.madeTitle, { name }),
  ownedBy: (/** @type {string} */ name) => say(T.DELEGATIONS.ownedBy, { name }),
});
