// @ts-check
/** What the views of the policy share: lines, requests and codes. */
import { Problem } from "../client/portcullis.js";
import { badges, h, link } from "../core/dom.js";
import { POLICY as T } from "../strings/policy.js";
import { demandsText } from "../strings/step-up.js";
import { filled } from "./block.js";
import { form } from "./form.js";
import { objectText, requestOf } from "./request-line.js";
import { OWN } from "./resources.js";
import { paths, roleCodes, userNames } from "./suggestions.js";
import { coming } from "./time.js";

/** @typedef {import("./form.js").Field} Field */

/**
 * Return the words of a line: layer, object and code.
 * @param {string} line `p, endpoint, GET /api/user, system:user:create`
 */
export function partsOf(line) {
  const [, layer = "", ...rest] = line.split(", ");
  return { layer, code: rest.pop() ?? "", object: rest.join(", ") };
}

/** Return the address of an explanation; empty values are left out. @param {Record<string, any>} question */
export function explaining(question) {
  const given = Object.entries(question).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  return `/policy/explain?${new URLSearchParams(given)}`;
}

/**
 * Return the way to an explanation; null if the caller may not ask for one.
 * @param {Page} page @param {Record<string, any>} question @param {string} name What is explained, for screen readers.
 */
export function why(page, question, name) {
  if (!page.may("POST /api/policy/explain")) return null;
  const anchor = link(explaining(question), T.why);
  anchor.setAttribute("aria-label", T.whyOf({ name }));
  return anchor;
}

/**
 * Return an object of the policy, with the way to who may send it if it is a request.
 * @param {Page} page
 * @param {string} object
 */
export function objectOf(page, object) {
  const request = page.may("GET /api/policy/who") ? requestOf(object) : null;
  const text = objectText(object);
  return request ? link(`/policy/who?${new URLSearchParams(request)}`, text) : text;
}

/**
 * Return why a layer lets pass: the line, and the held codes that match it.
 * @param {import("../types/api").PassedLayer | null} layer
 */
export function passedBy(layer) {
  if (!layer?.line) return null;
  const { code } = partsOf(layer.line);
  const held = layer.fired.filter((fired) => fired.code !== code);
  return [
    h("code", null, code),
    layer.until && [h("small", null, ` ${T.until} `), coming(layer.until)],
    held.length > 0 && [h("small", null, ` ${T.by} `), held.map((fired) => h("code", null, fired.code))],
  ];
}

/**
 * Return what a request demands beside codes, where a sign-in is not enough; null else.
 * @param {readonly string[] | null} words The weakest words about authentication, any one of which will do.
 */
export function demanded(words) {
  if (!words || words.some((word) => ["@anyone", "@initial", "@login"].includes(word))) return null;
  return demandsText(words) || T.closedDemand;
}

/** @param {readonly string[]} codes */
export function codes(codes) {
  return badges(codes.map((code) => h("code", null, code)));
}

/** The options of a select of methods. */
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** Attributes of fields whose text is no prose. */
export const SPELLED = { spellcheck: "false", autocapitalize: "none" };

/**
 * Return the fields of a form that name who holds codes: a user, or a role. Each is asked for while `subject`, another
 * field, has its name.
 * @param {Page} page
 * @param {(name: string) => string | null} value Returns what the address has for a field.
 * @param {boolean} [required]
 * @returns {Field[]}
 */
export function holderFields(page, value, required = true) {
  const fields = [
    { name: "userName", label: T.userName, value: value("userName"), wrap: userNames(page) },
    { name: "roleCode", label: T.roleCode, value: value("roleCode"), wrap: roleCodes(page) },
  ];
  return fields.map((field) => chosenField({ ...field, required }));
}

/**
 * Return the field of a text for programs that is asked for while `subject` has its name.
 * @param {Field} field
 * @returns {Field}
 */
export function chosenField(field) {
  return { code: true, required: true, only: ({ subject }) => subject === field.name, ...field };
}

/**
 * Return the form of a question; the view of its address has the answer.
 * @param {Page} page
 * @param {Field[]} fields
 * @param {(values: Record<string, any>) => Record<string, any>} [query] Returns the query of the address.
 * @param {string} [submit]
 */
export function question(page, fields, query = (values) => values, submit = T.ask) {
  const made = form({ fields, submit, quiet: true, save: (values) => asking(page, query(values)) });
  made.classList.add("question");
  return made;
}

/**
 * Return the field of a form for the instant that is asked about.
 * @param {string | null} value What the address has for it.
 * @returns {Field}
 */
export function instantField(value) {
  return { name: "at", label: T.at, type: "datetime", value, help: T.atHelp };
}

/**
 * Return the fields of a form that name a request.
 * @param {Page} page
 * @param {(name: string) => string | null} value Returns what the address has for a field.
 * @param {[string, string][] | null} services
 * @param {() => Record<string, any>} values Returns what the form has.
 * @param {boolean} [required]
 * @returns {Field[]}
 */
export function requestFields(page, value, services, values, required = true) {
  const method = value("method") ?? "GET";
  return [
    { name: "method", label: T.method, type: "select", required: true, options: METHODS, value: method },
    {
      name: "path",
      label: T.path,
      required,
      value: value("path"),
      help: T.pathHelp(),
      code: true,
      wrap: paths(page, values),
    },
    {
      name: "service",
      label: T.service,
      type: services ? "select" : "text",
      required: Boolean(services),
      options: services ?? [],
      value: value("service") ?? (services ? OWN : null),
      help: services ? undefined : T.serviceHelp,
      code: true,
    },
  ];
}

/**
 * Go to an address of the view that is shown, or show it anew if it is there already.
 * @param {Page} page
 * @param {Record<string, any>} query Empty values are left out.
 */
export function asking(page, query) {
  const given = Object.entries(query).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  const address = `${page.path}?${new URLSearchParams(given)}`;
  return address === location.hash.slice(1) ? page.reload() : page.go(address);
}

/**
 * Show an answer below the form that asks for it, once it is there. What the service refuses is said at its field.
 * @param {Page} page
 * @param {import("./form.js").Form} form
 * @param {HTMLElement} place
 * @param {() => Promise<import("../core/dom.js").Child>} work Returns the answer.
 */
export function answering(page, form, place, work) {
  const refusing = (/** @type {unknown} */ problem) => {
    if (page.signal.aborted || !(problem instanceof Problem) || !problem.violations.length) throw problem;
    form.refuse(problem);
    return null;
  };
  filled(page, () => work().catch(refusing), place);
}

/**
 * Return what loads a page of a list whose first page was read before.
 * @template T
 * @param {T} first
 * @param {(query: Record<string, any>) => Promise<T>} load
 */
export function after(first, load) {
  /** @type {T | null} */ let kept = first;
  return async (/** @type {Record<string, any>} */ query) => {
    const data = kept ?? (await load(query));
    kept = null;
    return data;
  };
}

/** Split what was typed as codes. @param {string | null} text */
export function codesIn(text) {
  return (text ?? "").split(/[\s,]+/).filter(Boolean);
}

/**
 * Show only some fields of a form.
 * @param {HTMLElement} form
 * @param {Record<string, boolean>} shown By the names of the fields.
 */
export function showing(form, shown) {
  for (const [name, on] of Object.entries(shown)) {
    const field = form.querySelector(`[name="${name}"]`)?.closest(".field");
    if (field instanceof HTMLElement) field.hidden = !on;
  }
}
