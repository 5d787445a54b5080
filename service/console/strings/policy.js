// @ts-check
/** The texts of the views of the policy. */
import { saying, texts } from "../core/texts.js";

const T = await texts("policy");

export const { WHAT_IF } = T;

export const POLICY = saying(T.POLICY, {
  modelTerms: /** @type {[string, string][]} */ (T.POLICY.modelTerms),
});

/** The answer of an explanation in a sentence, and what repairs a refusal. */
export const REPAIR = saying(T.REPAIR, {
  reason: (/** @type {string} */ request, /** @type {string | null} */ decision = null) =>
    (decision ? T.REPAIR.reasonRefused({ request, decision }) : T.REPAIR.reason({ request })).slice(0, 500),
});
