// @ts-check
/**
 * Sentences of the service in the language of the page, such as the details and faults of refusals: the service sends
 * them in English, with codes and parameters. A code without a text stays English.
 */
import { Problem } from "../client/portcullis.js";
import { listed } from "./locale.js";
import { languageOfPage, messages, say } from "./texts.js";

/** @typedef {{code?: string, params?: Record<string, any>, message: string}} Sentence */

Problem.translate = async (problem) => {
  const known = problem.status === 0 ? null : await knownTexts();
  if (!known) return;
  const { document } = problem;
  const { params } = document;
  problem.title = translated(known, { code: document.code ?? "", message: problem.title });
  problem.detail = translated(known, {
    code: document.detailCode ?? document.code ?? "",
    ...(params && { params }),
    message: problem.detail,
  });
  for (const fault of problem.violations) {
    const code = fault.detailCode ?? fault.code;
    fault.message = translated(known, { ...fault, ...(code !== undefined && { code }) });
  }
  for (const broken of document.brokenInvariants ?? []) {
    const { finding, findingCode, findingParams } = broken;
    broken.finding = translated(known, { code: findingCode, params: findingParams, message: finding });
  }
};

/** Return sentences of an answer in the language of the page, in their order. @param {readonly Sentence[]} sentences */
export async function inLanguage(sentences) {
  const known = await knownTexts();
  return sentences.map((sentence) => (known ? translated(known, sentence) : sentence.message));
}

/** Return the texts by code; null on an English page. @returns {Promise<Record<string, string> | null>} */
async function knownTexts() {
  if (languageOfPage() === "en") return null;
  const T = await messages("refusals/sentences");
  return /** @type {Record<string, string>} */ (/** @type {unknown} */ (T.SENTENCES));
}

/**
 * Return a sentence in the language of the page; its message if there is no text for its code.
 * @param {Record<string, string>} known
 * @param {Sentence} sentence
 * @returns {string}
 */
function translated(known, { code = "", params = {}, message }) {
  if (!Object.hasOwn(known, code)) return message;
  const shown = Object.entries(params).map(([name, value]) => [name, shownValue(known, value)]);
  return say(/** @type {string} */ (known[code]), Object.fromEntries(shown));
}

/** @param {Record<string, string>} known @param {any} value @returns {string | number} */
function shownValue(known, value) {
  if (Array.isArray(value)) return listed(value.map((item) => String(shownValue(known, item))));
  return value !== null && typeof value === "object" ? translated(known, value) : value;
}
