// @ts-check
/** The texts of the rules by which roles are asked for. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/request-rule.json")} */ (await texts("request-rule"));

export const RULE = saying(T.RULE, {
  title: (/** @type {string} */ role) => say(T.RULE.title, { role }),
  subject: (/** @type {string} */ role) => say(T.RULE.subject, { role }),
  stage: (/** @type {number} */ place) => say(T.RULE.stage, { place }),
  approvals: (/** @type {number} */ place) => say(T.RULE.approvals, { place }),
  removeStage: (/** @type {number} */ place) => say(T.RULE.removeStage, { place }),
  needs: (/** @type {number} */ place, /** @type {number} */ approvals) =>
    say(T.RULE.needs, { place, approvals }),
  stageText: (/** @type {{code: string, approvals: number}} */ { code, approvals }) =>
    say(T.RULE.stageText, { approvals, code }),
  saveTitle: (/** @type {string} */ role) => say(T.RULE.saveTitle, { role }),
  saved: (/** @type {string} */ role) => say(T.RULE.saved, { role }),
  endTitle: (/** @type {string} */ role) => say(T.RULE.endTitle, { role }),
  ended: (/** @type {string} */ role) => say(T.RULE.ended, { role }),
});
