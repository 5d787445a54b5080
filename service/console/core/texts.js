// @ts-check
/**
 * The texts of the console in the language of the page, which is the only one loaded. They are data: ICU messages in
 * `texts/<language>`, which the service sends as bundles: `start` for the page that asks for a login, `refusals` for
 * what the service says, and the rest.
 * A change of the language replaces them in place, so read them when something is shown, not when a module is loaded.
 */
import { pluralOf, shownNumber, speak } from "./locale.js";

/** @typedef {{name: string, dir: string, locale: string}} Language */
/** @typedef {import("../types/said").Value} Value */
/** @typedef {import("../types/texts").Texts} Files */
/** @typedef {{[name: string]: any}} Texts */
/** @typedef {string | {name: string, kind: string, options: Record<string, Node[]>} | {number: string}} Node */

const STORED = "portcullis.language";
const FALLBACK = "en";

/** The languages by their tags, as the service has them. @type {Record<string, Language>} */
export const LANGUAGES = JSON.parse(document.documentElement.dataset.languages ?? "{}");
/** The tag of the language of the page. */
let language = stored() ?? preferred();
/** What is loaded of the bundles, by the name of the bundle. @type {Record<string, Promise<Texts> | undefined>} */
const bundles = {};
/** @type {Map<string, Node[]>} */ const parsed = new Map();

speak(language, LANGUAGES[language]);

/** Return the tag of the language of the page, such as `zh-CN`. */
export function languageOfPage() {
  return language;
}

/**
 * Return the texts of a file, such as `users` or `start/form`, in which a function stands for each message:
 * `USERS.disabled({ name })`. They follow the language.
 * @template {keyof Files} F
 * @param {F} file
 * @returns {Promise<import("../types/said").Said<Files[F]>>}
 */
export async function texts(file) {
  return worded(await messages(file));
}

/**
 * Return the texts of a file with messages as they are, for `say` and `parts`.
 * @template {keyof Files} F
 * @param {F} file
 * @returns {Promise<Files[F]>}
 */
export async function messages(file) {
  const [folder, name] = file.includes("/") ? file.split("/") : ["rest", file];
  return (await bundle(folder))[name];
}

/** Load a bundle, once. @param {string} name */
export function bundle(name) {
  return (bundles[name] ??= fetched(language, name));
}

/**
 * Show texts in a language from now on, and keep the choice in this browser. True if that needs a new document, because
 * views with texts of the old language are loaded.
 * @param {string | null | undefined} tag Nothing changes for none, and for a language without texts.
 */
export async function useLanguage(tag) {
  if (!tag || !Object.hasOwn(LANGUAGES, tag)) return false;
  try {
    localStorage.setItem(STORED, tag);
  } catch {
    // A browser that stores nothing asks for the language of the account at each sign-in.
  }
  if (tag === language) return false;
  if (bundles.rest) return true;
  if (bundles.start) replace(await bundles.start, await fetched(tag, "start"));
  language = tag;
  delete bundles.refusals;
  parsed.clear();
  speak(tag, LANGUAGES[tag]);
  return false;
}

/**
 * Return texts with functions in the places of those of their names.
 * @template {object} T
 * @template {object} F
 * @param {T} data
 * @param {F} functions
 * @returns {Omit<T, keyof F> & F}
 */
export function saying(data, functions) {
  return Object.setPrototypeOf(functions, data);
}

/** Return texts with a function in the place of each message. @param {Texts} data @returns {any} */
function worded(data) {
  return new Proxy(data, {
    get(known, name) {
      const text = Reflect.get(known, name);
      if (typeof text === "string" && text.includes("{"))
        return (/** @type {Record<string, Value>} */ values) => say(text, values);
      return typeof text === "object" && !Array.isArray(text) ? worded(text) : text;
    },
  });
}

/**
 * Return a message with values in the places of its arguments.
 * @param {string} message
 * @param {Record<string, Value>} [values]
 */
export function say(message, values = {}) {
  return parts(message, values).join("");
}

/**
 * Return a message in parts, of which the values of its arguments are some; a list of values gives several.
 * @template V
 * @param {string} message As ICU MessageFormat has them: `{name}`, `{n, number}`, `{n, plural, …}`, `{x, select, …}`.
 * @param {Record<string, V>} values
 * @returns {(V | string)[]}
 */
export function parts(message, values) {
  let nodes = parsed.get(message);
  if (!nodes) parsed.set(message, (nodes = parse(message)));
  return filled(nodes, values);
}

/**
 * @template V
 * @param {Node[]} nodes
 * @param {Record<string, any>} values
 * @returns {(V | string)[]}
 */
function filled(nodes, values) {
  return nodes.flatMap((node) => {
    if (typeof node === "string") return node;
    if ("number" in node) return shownNumber(values[node.number]);
    const value = values[node.name];
    if (node.kind === "number") return shownNumber(value);
    if (node.kind === "") return typeof value === "number" ? String(value) : value;
    const key = node.kind === "plural" ? pluralOf(value) : String(value);
    return filled(node.options[`=${value}`] ?? node.options[key] ?? node.options.other, values);
  });
}

/** Return the nodes of a message. Throws `SyntaxError`. @param {string} message @returns {Node[]} */
function parse(message) {
  let at = 0;
  const token = (/** @type {RegExp} */ pattern) => {
    pattern.lastIndex = at;
    const match = pattern.exec(message);
    if (!match) throw new SyntaxError(`at ${at}: ${message}`);
    at = pattern.lastIndex;
    return match[1];
  };
  /** @param {string | null} counted The argument that # stands for. @returns {Node[]} */
  const sequence = (counted) => {
    /** @type {Node[]} */ const nodes = [];
    let text = "";
    while (at < message.length && message[at] !== "}") {
      const sign = message[at++];
      if (sign === "'" && message[at] === "'") text += message[at++];
      else if (sign === "'" && /[{}#]/.test(message[at] ?? "")) text += token(/([^']*)'?/y);
      else if (sign === "{" || (sign === "#" && counted)) {
        nodes.push(text, sign === "#" ? { number: String(counted) } : argument(counted));
        text = "";
      } else text += sign;
    }
    return [...nodes, text].filter((node) => node !== "");
  };
  const argument = (/** @type {string | null} */ counted) => {
    const name = token(/\s*(\w+)\s*/y);
    const kind = message[at] === "," ? token(/,\s*(number|plural|select)\s*/y) : "";
    /** @type {Record<string, Node[]>} */ const options = {};
    if (kind === "plural" || kind === "select") {
      token(/(,)/y);
      while (!/^\s*\}/.test(message.slice(at))) {
        const key = token(/\s*(=?\w+)\s*\{/y);
        options[key] = sequence(kind === "plural" ? name : counted);
        token(/(\})/y);
      }
    }
    token(/\s*(\})/y);
    return { name, kind, options };
  };
  const nodes = sequence(null);
  if (at < message.length) throw new SyntaxError(`at ${at}: ${message}`);
  return nodes;
}

/** Return texts by numbers as pairs. @param {Record<string, string>} texts @returns {[number, string][]} */
export function numbered(texts) {
  return Object.entries(texts).map(([number, text]) => [Number(number), text]);
}

/** @param {string} tag @param {string} name @returns {Promise<Texts>} */
async function fetched(tag, name) {
  const answer = await fetch(new URL(`../texts/${tag}.${name}.json`, import.meta.url));
  if (!answer.ok) throw new TypeError(`No texts: ${tag}, ${name}`);
  return answer.json();
}

/** Put the texts of `from` into the objects of `to`. @param {Texts} to @param {Texts} from */
function replace(to, from) {
  for (const [name, text] of Object.entries(from)) {
    if (typeof text === "object" && typeof to[name] === "object") replace(to[name], text);
    else to[name] = text;
  }
}

/** Return the language that was chosen in this browser, or null. */
function stored() {
  try {
    const tag = localStorage.getItem(STORED);
    return tag && Object.hasOwn(LANGUAGES, tag) ? tag : null;
  } catch {
    return null;
  }
}

/** Return the first of the browser's languages that has texts, by language and script. */
function preferred() {
  const written = (/** @type {string} */ tag) => {
    const { language: name, script } = new Intl.Locale(tag).maximize();
    return `${name}-${script}`;
  };
  for (const each of navigator.languages) {
    const tag = Object.keys(LANGUAGES).find((known) => known === each || written(known) === written(each));
    if (tag) return tag;
  }
  return FALLBACK;
}
