// @ts-check
/**
 * Entries of the logs as sentences, such as "admin gave role auditor to lee": from who called, what the operation
 * does, and what it has changed. Makes no elements, so that lists, pictures and tests can all use it.
 */
import { listed, listParts, timeText } from "../core/locale.js";
import { languageOfPage, parts, say } from "../core/texts.js";
import { ACTS, EVENTS, FIELDS, KINDS, PARTS, REASONS, SENTENCE as T, UNNAMED } from "../strings/sentences.js";

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
const AGAIN = " (answered again)";
/** What a message selects where a value is not there. */
const NONE = "none";
/** What many values of a field are, by the record that has them: how they came and went. */
const GIVEN = /** @type {Record<string, {kind: string, came: () => string, went: () => string}>} */ ({
  "user roles": { kind: "role", came: () => T.gave, went: () => T.took },
  "user secondFactors": { kind: "factor", came: () => T.gave, went: () => T.removed },
  "role permissions": { kind: "permission", came: () => T.gave, went: () => T.took },
  "role menus": { kind: "menu", came: () => T.gave, went: () => T.took },
  "resource permissions": { kind: "button", came: () => T.bound, went: () => T.removed },
  "button resources": { kind: "resource", came: () => T.bound, went: () => T.removed },
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
  const sentence = whole({ ...entry, action }, actor, changes);
  const words = action === entry.action ? sentence : filled(T.again, { sentence });
  return languageOfPage().startsWith("zh") ? spaced(words) : words;
}

const HAN = "\\p{Script=Han}";
const LATIN = "[\\p{Script=Latin}\\d]";
const TOUCHING = new RegExp(`${HAN}\n${LATIN}|${LATIN}\n${HAN}`, "u");
const APART = new RegExp(`${HAN}(?: \n|\n )${HAN}`, "u");

/**
 * Return Chinese words with a blank where Chinese characters meet Latin letters or digits, and without one between
 * Chinese characters: so a text fits a name, and a kind with a name. Names stay as they are.
 * @param {readonly Word[]} words
 * @returns {Word[]}
 */
export function spaced(words) {
  /** @type {Word[]} */ const made = [];
  for (const word of words) {
    const before = made.at(-1);
    const meeting = `${textOf(before).slice(-2)}\n${textOf(word).slice(0, 2)}`;
    const isApart = APART.test(meeting);
    if (TOUCHING.test(meeting)) made.push(" ");
    else if (isApart && typeof before === "string") made[made.length - 1] = before.trimEnd();
    made.push(isApart && typeof word === "string" ? word.trimStart() : word);
  }
  return made;
}

/** @param {Word | undefined} word */
function textOf(word) {
  return typeof word === "object" ? word.text : (word ?? "");
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
  return parts(T.session, {
    actor: /** @type {Word} */ ({ text: userName ?? T.somebody, actor: true }),
    what: texts ? texts[outcome === "success" ? 0 : 1] : event.replaceAll("_", " "),
    where: device || NONE,
    why: reason ? (REASONS[reason] ?? reason) : NONE,
  });
}

/** Return a sentence as text. @param {Word[]} words */
export function plain(words) {
  return words.map((word) => (typeof word === "string" ? word : word.text)).join("");
}

/**
 * @param {any} entry
 * @param {Word} actor
 * @param {Change[]} changes
 * @returns {Word[]}
 */
function whole(entry, actor, changes) {
  const { module, action, kind, method, url, targets, status, decision, dryRun } = entry;
  if (kind === "REFUSED_READ") return parts(T.refusedRead, { actor, request: `${method} ${url}` });
  const key = `${module} ${action}`;
  if (!Object.hasOwn(ACTS, key)) {
    return targets
      ? filled(T.unknownOf, { actor, module, action, records: records(targets) })
      : parts(T.unknown, { actor, module, action });
  }
  const [done, act] = ACTS[key];
  const failed = status >= 400;
  if (!failed && !dryRun) {
    const edited = kind === "UPDATE" || ASSIGNING.has(key);
    const clauses = edited && done.includes("{about}") ? edits(entry, changes) : [];
    if (clauses.length > 0) return filled(T.done, { actor, act: clausesOf(clauses) });
    const act = about(done, key, entry);
    return filled(T.done, { actor, act: kind === "INSERT" ? withGiven(act, changes) : act });
  }
  const denied = decision === "deny";
  const template = dryRun
    ? denied
      ? T.notPreviewed
      : failed
        ? T.triedPreview
        : T.previewed
    : denied
      ? T.refused
      : T.tried;
  return filled(template, { actor, act: about(act, key, entry) });
}

/**
 * Return a message whose values are words, or several.
 * @param {string} message @param {Record<string, Word | Word[] | number>} values
 */
function filled(message, values) {
  return /** @type {Word[]} */ (parts(message, values)).filter((word) => word !== "");
}

/**
 * Return a text with the records and the part of the path in their places.
 * @param {string} text
 * @param {string} key
 * @param {any} entry
 * @returns {Word[]}
 */
function about(text, key, { module, url, targets }) {
  const part = (url.startsWith("/") ? url.split("/")[PARTS[key]] : url.split(" ").at(-1)) ?? "";
  const named = part.startsWith("{") ? "…" : part; // a value that the service did not understand
  const shown = (targets ?? []).filter((/** @type {string} */ target) => !target.startsWith("key:"));
  return filled(text, {
    part: named,
    about: shown.length > 0 ? records(shown) : unnamed(key, module, url),
  });
}

/**
 * Return what stands for records whose names the log does not have, with the id of the path.
 * @param {string} key
 * @param {string} module
 * @param {string} url
 * @returns {Word}
 */
function unnamed(key, module, url) {
  if (Object.hasOwn(UNNAMED, key)) return UNNAMED[key];
  const [, id] = /^\/api\/[a-z-]+\/(\d+)/.exec(url) ?? [];
  const record = UNNAMED[module] ?? module;
  return {
    text: id ? say(T.withId, { record, id }) : record,
    target: `${module === "online" ? "user" : module}:`,
  };
}

/**
 * Return the edits as clauses, those of several records that are alike as one; nothing where a value is not known.
 * @param {any} entry
 * @param {Change[]} changes
 * @returns {Word[][]}
 */
function edits(entry, changes) {
  /** @type {Map<string, {message: string, values: Record<string, string>, targets: Set<string>, bare: boolean}>} */
  const clauses = new Map();
  /** @type {Map<string, string[]>} */ const fields = new Map();
  const add = (
    /** @type {string} */ message,
    /** @type {string} */ target,
    /** @type {Record<string, string>} */ values = {},
    bare = false,
  ) => {
    const key = JSON.stringify([message, values]);
    const clause = clauses.get(key) ?? { message, values, targets: new Set(), bare };
    clause.targets.add(target);
    clauses.set(key, clause);
  };
  for (const change of changes) {
    const { target, field, before, after } = change;
    // What happened to a request for a role is said by what its author got, or by the operation.
    if (field.startsWith("accessRequest ")) continue;
    // The Menus above new Buttons come along.
    if (field === "menus" && changes.some((each) => each.field === "permissions" && each.target === target))
      continue;
    const given = GIVEN[`${kindOf(target)} ${field}`];
    if (given) {
      const { kind } = given;
      if (after?.length) add(given.came(), target, { values: values(kind, after, change.added) }, true);
      if (before?.length) add(given.went(), target, { values: values(kind, before, change.removed) }, true);
    } else if (field === "status" || field === "enabled") {
      add(after === true || after === "enabled" ? T.enabled : T.disabled, target);
    } else {
      fields.set(target, [...(fields.get(target) ?? []), fieldName(field)]);
    }
  }
  for (const [target, names] of fields) add(T.changed, target, { fields: listed([...new Set(names)]) });
  const cut = (entry.changeCount ?? 0) > changes.length;
  return [...clauses.values()].map(({ message, values: held, targets, bare }) =>
    filled(message, { ...held, records: records([...targets], { bare, cut }) }),
  );
}

/** Return what the console calls a field, such as `accessRequest 7` or `requestRule.stages`. @param {string} field */
export function fieldName(field) {
  const [word, ...number] = field.replace(/\..*/, "").split(" ");
  return [FIELDS[word] ?? word, ...number].join(" ");
}

/** Return what was done, and what a new record was given with it. @param {Word[]} act @param {Change[]} changes */
function withGiven(act, changes) {
  const change = changes.find(
    // The Buttons of a new resource are among the records of its entry.
    ({ target, field, after }) =>
      kindOf(target) !== "resource" && GIVEN[`${kindOf(target)} ${field}`] && after?.length,
  );
  if (!change) return act;
  const { kind } = GIVEN[`${kindOf(change.target)} ${change.field}`];
  return filled(T.with, { act, values: values(kind, change.after, change.added) });
}

/**
 * Return values of a kind: `role auditor`, `permissions a, b and 4 more`.
 * @param {string} kind
 * @param {string[]} names
 */
function values(kind, names, all = names.length) {
  const shown = names.slice(0, all > MOST ? MOST - 1 : MOST).map(kind === "role" ? withoutReason : String);
  const left = all - shown.length;
  const shownNames = listed(left > 0 ? [...shown, say(T.more, { n: left })] : shown);
  return say(KINDS[kind], { n: all, names: shownNames });
}

/** Return an assignment without its reason, and its times in the reader's zone. @param {string} text */
export function withoutReason(text) {
  const [role] = text.split(": ", 1);
  return role.replace(/\S+T\S+Z/g, timeText);
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
      const shown = named.slice(0, named.length > MOST ? MOST - 1 : MOST);
      const left = named.length - shown.length;
      /** @type {Word[][]} */ const names = shown.map((target) => [{ text: nameOf(target), target }]);
      if (cut) names.push([T.others]);
      else if (left > 0) names.push([say(T.more, { n: left })]);
      if ((bare && kind === "user") || !Object.hasOwn(KINDS, kind)) return joined(names);
      return filled(KINDS[kind], { n: Math.max(named.length, cut ? 2 : 1), names: joined(names) });
    }),
  );
}

/** Join items as a list of the language. @param {Word[][]} items @returns {Word[]} */
function joined(items) {
  return listParts(items.map((_, place) => String(place))).flatMap(({ type, value }) =>
    type === "element" ? items[Number(value)] : [value],
  );
}

/** Join clauses, each of which says what was done. @param {Word[][]} clauses @returns {Word[]} */
function clausesOf(clauses) {
  const last = clauses[clauses.length - 1];
  const first = clauses
    .slice(0, -1)
    .flatMap((clause, place) => (place === 0 ? clause : [T.comma, ...clause]));
  return clauses.length === 1 ? last : filled(T.also, { first, last });
}

/** Return the kind of a record by its name in the log: `role` of `role:auditor`. @param {string} target */
function kindOf(target) {
  return target.slice(0, Math.max(0, target.indexOf(":")));
}

/** @param {string} target */
function nameOf(target) {
  const kind = kindOf(target);
  return Object.hasOwn(KINDS, kind) ? target.slice(kind.length + 1) : target;
}
