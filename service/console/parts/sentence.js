// @ts-check
/**
 * Entries of the logs as sentences, such as "admin gave role auditor to lee": from who called, what the operation
 * does, and what it has changed. Makes no elements, so that lists, pictures and tests can all use it.
 */
import { ACTS, EVENTS, onDevice, PARTS, REASONS, SENTENCE as T } from "../strings/sentences.js";

/**
 * A text, a record by its name in the log, or who called.
 * @typedef {string | {text: string, target: string} | {text: string, actor: true}} Word
 */
/**
 * @typedef {object} Change
 * @property {string} target
 * @property {string} field
 * @property {any} [before]
 * @property {any} [after]
 * @property {number} [removed]
 * @property {number} [added]
 */

/** The most records, and the most values of a change, that a sentence names. */
const MOST = 3;
const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const AGAIN = " (answered again)";
/** What many values of a field are, by the record that has them: the words before and between. */
const GIVEN = /** @type {Record<string, {kind: string, verbs: [string, string, string, string]}>} */ ({
  "user roles": { kind: "role", verbs: [T.gave, T.to, T.took, T.from] },
  "role permissions": { kind: "permission", verbs: [T.gave, T.to, T.took, T.from] },
  "role menus": { kind: "menu", verbs: [T.gave, T.to, T.took, T.from] },
  "resource permissions": { kind: "button", verbs: [T.bound, T.to, T.removed, T.from] },
  "button resources": { kind: "resource", verbs: [T.bound, T.to, T.removed, T.from] },
});

/** What gives and takes a single role, which the log has as made and deleted. */
const ASSIGNING = new Set(["user assign a role", "user end an assignment of a role"]);

/**
 * Return what an entry of the operation log says. Without its changes it says what the operation does; an operation
 * that is not known, such as one of an extension, is named by its module and action.
 * @param {any} entry As the list or the detail shows it.
 * @param {Change[]} [changes] What it has saved, as far as the caller may know.
 * @returns {Word[]}
 */
export function sentence(entry, changes = entry.changes ?? []) {
  /** @type {Word} */ const actor = { text: entry.userName ?? ownerOf(entry) ?? T.somebody, actor: true };
  const action = entry.action.endsWith(AGAIN) ? entry.action.slice(0, -AGAIN.length) : entry.action;
  /** @type {Word[]} */ const words = [
    actor,
    ...predicate({ ...entry, action }, changes),
    action === entry.action ? "" : ` ${T.again}`,
  ];
  return words.filter((word) => word !== "");
}

/**
 * Return the owner of the link that an entry without a session is about; null where several records, or none, are
 * known. A link proves whose account it is.
 * @param {any} entry
 */
function ownerOf({ module, targets, status }) {
  if (module !== "auth" || status >= 400 || targets?.length !== 1) return null;
  return kindOf(targets[0]) === "user" ? nameOf(targets[0]) : null;
}

/** Return what happened to a session, as the login log has it. @param {any} entry @returns {Word[]} */
export function sessionSentence({ event, outcome, reason, device, userName }) {
  const texts = Object.hasOwn(EVENTS, event) ? EVENTS[event] : null;
  const text = texts ? texts[outcome === "success" ? 0 : 1] : event.replaceAll("_", " ");
  const where = device ? ` ${onDevice(device)}` : "";
  const why = reason ? `: ${REASONS[reason] ?? reason}` : "";
  return [{ text: userName ?? T.somebody, actor: true }, ` ${text}${where}${why}`];
}

/** Return a sentence as text. @param {Word[]} words */
export function plain(words) {
  return words.map((word) => (typeof word === "string" ? word : word.text)).join("");
}

/** @param {any} entry @param {Change[]} changes @returns {Word[]} */
function predicate(entry, changes) {
  const { module, action, kind, method, url, targets, status, decision, dryRun } = entry;
  if (kind === "REFUSED_READ") return [` ${T.refusedRead} ${method} ${url}`];
  const key = `${module} ${action}`;
  if (!Object.hasOwn(ACTS, key))
    return [`: ${module}, ${action}`, ...(targets ? [", ", ...records(targets)] : [])];
  const acts = ACTS[key];
  const failed = status >= 400;
  if (!failed && !dryRun) {
    const edited = kind === "UPDATE" || ASSIGNING.has(key);
    const clauses = edited && acts[0].includes("{about}") ? edits(entry, changes) : [];
    if (clauses.length > 0) return [" ", ...joined(clauses)];
    return [" ", ...filled(acts[0], key, entry), ...(kind === "INSERT" ? givenAtOnce(changes) : [])];
  }
  const denied = decision === "deny";
  const about = dryRun
    ? denied
      ? T.notPreviewed
      : failed
        ? T.triedPreview
        : T.previewed
    : denied
      ? T.refused
      : T.tried;
  return [` ${about} `, ...filled(acts[1], key, entry)];
}

/**
 * Return a text with the records and the part of the path in their places.
 * @param {string} text
 * @param {string} key
 * @param {any} entry
 * @returns {Word[]}
 */
function filled(text, key, { module, url, targets }) {
  const part = (url.startsWith("/") ? url.split("/")[PARTS[key]] : url.split(" ").at(-1)) ?? "";
  const named = part.startsWith("{") ? "…" : part; // a value that the service did not understand
  const [before, after] = text.replace("{part}", named).split("{about}");
  if (after === undefined) return [before];
  const shown = (targets ?? []).filter((/** @type {string} */ target) => !target.startsWith("key:"));
  const about = shown.length > 0 ? records(shown) : [unnamed(key, module, url)];
  return [before, ...about, after].filter((word) => word !== "");
}

/**
 * Return what stands for records whose names the log does not have, with the id of the path.
 * @param {string} key
 * @param {string} module
 * @param {string} url
 * @returns {Word}
 */
function unnamed(key, module, url) {
  if (T.unnamed[key]) return T.unnamed[key];
  const [, id] = /^\/api\/[a-z-]+\/(\d+)/.exec(url) ?? [];
  const text = T.unnamed[module] ?? module;
  return { text: id ? T.withId(text, id) : text, target: `${module === "online" ? "user" : module}:` };
}

/**
 * Return the edits as clauses, those of several records that are alike as one; nothing where a value is not known.
 * @param {any} entry
 * @param {Change[]} changes
 * @returns {Word[][]}
 */
function edits(entry, changes) {
  /** @type {Map<string, {verb: string, targets: Set<string>, bare: boolean}>} */ const clauses = new Map();
  /** @type {Map<string, string[]>} */ const fields = new Map();
  const add = (/** @type {string} */ verb, /** @type {string} */ target, bare = false) => {
    const clause = clauses.get(verb) ?? { verb, targets: new Set(), bare };
    clause.targets.add(target);
    clauses.set(verb, clause);
  };
  for (const change of changes) {
    const { target, field, before, after } = change;
    // The Menus above new Buttons come along.
    if (field === "menus" && changes.some((each) => each.field === "permissions" && each.target === target))
      continue;
    const given = GIVEN[`${kindOf(target)} ${field}`];
    if (given) {
      const [gave, to, took, from] = given.verbs;
      if (after?.length) add(`${gave} ${values(given.kind, after, change.added)} ${to}`, target, true);
      if (before?.length) add(`${took} ${values(given.kind, before, change.removed)} ${from}`, target, true);
    } else if (field === "status" || field === "enabled") {
      add(after === true || after === "enabled" ? T.enabled : T.disabled, target);
    } else {
      fields.set(target, [...(fields.get(target) ?? []), T.fields[field] ?? field]);
    }
  }
  for (const [target, names] of fields) add(T.changed(listed([...new Set(names)])), target);
  const cut = (entry.changeCount ?? 0) > changes.length;
  return [...clauses.values()].map(({ verb, targets, bare }) => [
    `${verb} `,
    ...records([...targets], { bare, cut }),
  ]);
}

/** Return what a new record was given with it. @param {Change[]} changes @returns {Word[]} */
function givenAtOnce(changes) {
  return changes
    .filter(({ target, field, after }) => GIVEN[`${kindOf(target)} ${field}`] && after?.length)
    .slice(0, 1)
    .map(({ target, field, after, added }) => {
      const { kind } = GIVEN[`${kindOf(target)} ${field}`];
      return ` ${T.with} ${values(kind, after, added)}`;
    });
}

/**
 * Return values of a kind: `role auditor`, `permissions a, b and 4 more`.
 * @param {string} kind
 * @param {string[]} names
 */
function values(kind, names, all = names.length) {
  const [singular, plural] = T.kinds[kind];
  const shown = names.slice(0, all > MOST ? MOST - 1 : MOST).map(kind === "role" ? withoutReason : String);
  const left = all - shown.length;
  return `${all === 1 ? singular : plural} ${listed(left > 0 ? [...shown, T.more(left)] : shown)}`;
}

/** Return an assignment without its reason, and its times in the reader's zone. @param {string} text */
export function withoutReason(text) {
  const [role] = text.split(": ", 1);
  return role.replace(/\S+T\S+Z/g, (iso) => TIME.format(new Date(iso)));
}

/**
 * Return records by their kinds: `user lee`, `roles clerk and auditor`.
 * @param {readonly string[]} targets
 * @param {{bare?: boolean, cut?: boolean}} [options] `bare`: names of users alone; `cut`: there are more.
 * @returns {Word[]}
 */
function records(targets, { bare = false, cut = false } = {}) {
  /** @type {Map<string, string[]>} */ const kinds = new Map();
  for (const target of targets) kinds.set(kindOf(target), [...(kinds.get(kindOf(target)) ?? []), target]);
  return joined(
    [...kinds].map(([kind, named]) => {
      const several = named.length > 1 || cut;
      const noun = bare && kind === "user" ? undefined : T.kinds[kind]?.[several ? 1 : 0];
      const shown = named.slice(0, named.length > MOST ? MOST - 1 : MOST);
      const left = named.length - shown.length;
      /** @type {Word[][]} */ const names = shown.map((target) => [{ text: nameOf(target), target }]);
      if (cut) names.push([T.others]);
      else if (left > 0) names.push([T.more(left)]);
      return [noun === undefined ? "" : `${noun} `, ...joined(names)];
    }),
  ).filter((word) => word !== "");
}

/** Join with commas, and the last with `and`. @param {Word[][]} parts @returns {Word[]} */
function joined(parts) {
  return parts.flatMap((part, place) => {
    if (place === 0) return part;
    return [place === parts.length - 1 ? T.and : T.comma, ...part];
  });
}

/** @param {string[]} texts */
function listed(texts) {
  return plain(joined(texts.map((text) => [text])));
}

/** Return the kind of a record by its name in the log: `role` of `role:auditor`. @param {string} target */
function kindOf(target) {
  return target.slice(0, Math.max(0, target.indexOf(":")));
}

/** @param {string} target */
function nameOf(target) {
  const kind = kindOf(target);
  return Object.hasOwn(T.kinds, kind) ? target.slice(kind.length + 1) : target;
}
