// @ts-check
/** The texts of the rules by which roles are asked for. */
import { saying, texts } from "../core/texts.js";

const T = await texts("request-rule");

export const RULE = saying(T.RULE, {
  stageText: (/** @type {{code: string, approvals: number}} */ { code, approvals }) =>
    T.RULE.stageText({ approvals, code }),
});
