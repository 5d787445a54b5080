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

/**
 * Put the sentences of an answer into the language of the page: members such as `cause`, with `causeCode` and
 * `causeParams` beside it, and the warnings of a dry run. The texts are loaded only for an answer with sentences.
 * @param {{data: any, preview?: any}} answer
 */
export async function translateAnswer({ data, preview }) {
  const members = languageOfPage() === "en" ? [] : [...stated(data)];
  const warnings = /** @type {Sentence[]} */ (preview?.warningSentences ?? []);
  const known = members.length + warnings.length > 0 ? await knownTexts() : null;
  if (!known) return;
  for (const [holder, name] of members) {
    const params = holder[`${name}Params`] ?? {};
    holder[name] = translated(known, { code: holder[`${name}Code`], params, message: holder[name] });
    for (const each of Object.values(params))
      if (each?.message !== undefined) each.message = translated(known, each);
  }
  if (preview) preview.warnings = warnings.map((each) => translated(known, each));
}

/**
 * Yield each sentence in `value`: the object that has it, and its name.
 * @param {any} value
 * @returns {Iterable<[any, string]>}
 */
function* stated(value) {
  if (value === null || typeof value !== "object" || value instanceof Response) return;
  for (const [name, member] of Object.entries(value)) {
    const about = name.endsWith("Params") ? name.slice(0, -"Params".length) : "";
    if (about && value[`${about}Code`] && typeof value[about] === "string") yield [value, about];
    else yield* stated(member);
  }
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
