// @ts-check
/** The texts about agents that act for the caller. */
import { saying, texts } from "../../core/texts.js";

const T = await texts("agents");

export const APPROVALS = saying(T.APPROVALS);

export const DELEGATIONS = saying(T.DELEGATIONS);
