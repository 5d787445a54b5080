// @ts-check
/** Requests as people read them: the method as a chip, and the path. */
import { h } from "../core/dom.js";

/** The look of methods by what they do: read, write or delete. @type {Record<string, string>} */
const KINDS = { POST: "write", PUT: "write", PATCH: "write", DELETE: "delete" };

/**
 * Return a request. Its text is that of the object in the policy: `GET /a`, or `orders GET /a` of another service.
 * @param {string} method
 * @param {string} path
 * @param {string | null} [service] Another service than this one.
 */
export function requestLine(method, path, service) {
  return h(
    "span",
    { class: "request-line" },
    service && [h("span", { class: "soft" }, service), " "],
    h("span", { class: `method ${KINDS[method] ?? ""}`.trim() }, method),
    " ",
    h("code", null, path),
  );
}

/**
 * Return the request that an object stands for, null if it is none: `GET /a`, or `orders GET /a` of another service.
 * @param {string} object
 * @returns {{service?: string, method: string, path: string} | null}
 */
export function requestOf(object) {
  const parts = /^(?:(\S+) )?(GET|POST|PUT|PATCH|DELETE) (\/\S*)$/.exec(object);
  return parts && { ...(parts[1] ? { service: parts[1] } : {}), method: parts[2], path: parts[3] };
}

/** Return an object of the policy: a request as one, anything else as it is written. @param {string} object */
export function objectText(object) {
  const request = requestOf(object);
  return request ? requestLine(request.method, request.path, request.service) : h("code", null, object);
}

/**
 * Return the first words of the path of a request, by which requests are grouped; an object that is none, as it is.
 * @param {string} object
 */
export function groupOf(object) {
  const request = requestOf(object);
  if (!request) return object;
  const path = request.path.split("/").slice(0, 3).join("/");
  return request.service ? `${request.service} ${path}` : path;
}
