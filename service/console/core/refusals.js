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
  translateMembers(known, [...stated(document)]);
};

/** Return sentences of an answer in the language of the page, in their order. @param {readonly Sentence[]} sentences */
export async function inLanguage(sentences) {
  const known = await knownTexts();
  return sentences.map((sentence) => (known ? translated(known, sentence) : sentence.message));
}

/**
 * Put the sentences of an answer into the language of the page. The texts are loaded only for an answer with sentences.
 * @param {{data: any, preview?: any}} answer
 */
export async function translateAnswer({ data, preview }) {
  const members = languageOfPage() === "en" ? [] : [...stated(data), ...stated(preview)];
  const known = members.length > 0 ? await knownTexts() : null;
  if (known) translateMembers(known, members);
}

/**
 * Put members with sentences into the language of the page: `cause`, with `causeCode` and `causeParams` beside it, or
 * the list `warnings`, with `warningSentences`.
 * @param {Record<string, string>} known
 * @param {Iterable<[any, string]>} members
 */
function translateMembers(known, members) {
  for (const [holder, name] of members) {
    if (Array.isArray(holder[name])) {
      holder[name] = holder[sentencesOf(name)].map((/** @type {Sentence} */ each) => translated(known, each));
      continue;
    }
    const params = holder[`${name}Params`];
    holder[name] = translated(known, { code: holder[`${name}Code`], params, message: holder[name] });
    for (const each of Object.values(params))
      if (each?.message !== undefined) each.message = translated(known, each);
  }
}

/** Return the name of the sentences of a list: `warningSentences` of `warnings`. @param {string} name */
const sentencesOf = (name) => `${name.slice(0, -1)}Sentences`;

/**
 * Yield each member of `value` with a sentence, or with sentences: the object that has it, and its name.
 * @param {any} value
 * @returns {Iterable<[any, string]>}
 */
function* stated(value) {
  if (value === null || typeof value !== "object" || value instanceof Response) return;
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === "string" && value[`${name}Code`] && value[`${name}Params`]) yield [value, name];
    else if (Array.isArray(member) && Array.isArray(value[sentencesOf(name)])) yield [value, name];
    else if (!/(?:Params|Sentences)$/.test(name)) yield* stated(member);
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
