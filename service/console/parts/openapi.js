// @ts-check
/** Reads the operations of an OpenAPI document as resources, by the rules of the command `resource import`. */
import { RESOURCES as T } from "../strings/resources.js";
import { suggested } from "./resources.js";
import { enumerated } from "../strings/common.js";

const FIELDS = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];
const METHODS = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);
/** A document that can't be read; the message says why. */
export class Unreadable extends Error {}

const SEGMENT = /^(?:[A-Za-z0-9._~-]+|\{[A-Za-z_][A-Za-z0-9_]*\})$/;

/** @typedef {import("./registering.js").Candidate} Candidate */

/** Return a path without the names of its parameters: two of the same shape are one. @param {string} path */
export function shapeOf(path) {
  return path.replace(/\{[^}]*\}/g, "{}");
}

/**
 * Return the operations of a document, and what can't be registered with the reason; throws `Unreadable`.
 * @param {any} document
 * @param {string} service
 * @param {string | null} base The path before all paths; null takes that of the document.
 * @returns {{operations: Candidate[], unusable: {operation: string, reason: string}[]}}
 */
export function operationsOf(document, service, base) {
  const { openapi, swagger, paths } = document ?? {};
  if (
    !paths ||
    typeof paths !== "object" ||
    (!String(openapi ?? "").startsWith("3.") && String(swagger) !== "2.0")
  )
    throw new Unreadable(T.noDocument);
  const prefix = base === null ? baseOf(document) : base.replace(/\/+$/, "");
  /** @type {Candidate[]} */ const operations = [];
  /** @type {{operation: string, reason: string}[]} */ const unusable = [];
  const seen = new Set();
  for (const [template, item] of Object.entries(paths)) {
    for (const field of FIELDS) {
      const operation = item?.[field];
      if (!operation || typeof operation !== "object") continue;
      const method = field.toUpperCase();
      const path = `${prefix}${template}`.replace(/\{([^{}/]*)\}/g, (_, name) => `{${parameter(name)}}`);
      const reason = refusal(method, prefix, path, operation.servers ?? item.servers);
      const key = `${method} ${shapeOf(path)}`;
      if (reason || seen.has(key))
        unusable.push({ operation: `${method} ${template}`, reason: reason ?? T.reasons.twice });
      else
        operations.push({ ...suggested(service, method, path), method, path, service, ...named(operation) });
      seen.add(key);
    }
  }
  return { operations, unusable };
}

/** @param {any} operation */
function named({ summary, operationId }) {
  const resourceName = String(summary || operationId || "")
    .replace(/\p{Cc}/gu, " ")
    .split(/\s+/)
    .join(" ")
    .trim()
    .slice(0, 128);
  return resourceName ? { resourceName } : {};
}

/** @param {any} document */
function baseOf({ swagger, basePath, servers }) {
  if (swagger) return String(basePath ?? "").replace(/\/+$/, "");
  const bases = new Set((servers ?? []).map(pathOf));
  if (bases.size > 1 || [...bases].some((base) => base.includes("{")))
    throw new Unreadable(T.severalBases({ bases: enumerated([...bases]) }));
  return [...bases][0] ?? "";
}

/** @param {any} server */
function pathOf(server) {
  const url = String(server?.url ?? "");
  return url
    .replace(/^[a-z][a-z0-9+.-]*:/i, "")
    .replace(/^\/\/[^/?#]*/, "")
    .replace(/[?#].*$/s, "")
    .replace(/\/+$/, "");
}

/** @param {string} method @param {string} prefix @param {string} path @param {any[] | undefined} servers */
function refusal(method, prefix, path, servers) {
  if (method === "HEAD") return T.reasons.head;
  if (!METHODS.has(method)) return T.reasons.method;
  if ((servers ?? []).some((server) => pathOf(server) !== prefix)) return T.reasons.servers;
  const segments = path.split("/").slice(1);
  if (segments.at(-1) === "") segments.pop();
  if (segments.some((segment) => /[{}]/.test(segment) && !/^\{[^{}]*\}$/.test(segment)))
    return T.reasons.whole;
  return path.startsWith("/") &&
    segments.every((segment) => SEGMENT.test(segment) && segment !== "." && segment !== "..")
    ? null
    : T.reasons.path;
}

/** @param {string} name */
function parameter(name) {
  const cleaned = name.replace(/[^A-Za-z0-9_]/g, "_");
  return /^[A-Za-z_]/.test(cleaned) ? cleaned : `_${cleaned}`;
}
