// @ts-check
/** The texts about agents that act for the caller. */
import { texts } from "../../core/texts.js";

export const { APPROVALS, DELEGATIONS } = await texts("agents");
