// @ts-check
/** Sends requests to the API, and turns every answer that is no success into a `Problem`. */

/** The POSTs that take an `Idempotency-Key`; the others ignore or refuse one. */
const KEYED = new Set([
  "/api/user",
  "/api/role",
  "/api/menu",
  "/api/resource",
  "/api/service",
  "/api/opening",
  "/api/access-request",
  "/api/user/{id}/roles",
  "/api/user/bulk/status",
  "/api/user/bulk/role",
  "/api/user/bulk/end-sessions",
]);

/**
 * A refusal of the API, with the members of its problem document (RFC 9457) in `document`. `status` is 0 when there was
 * no answer at all.
 */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {Record<string, any>} document
   * @param {number} [retryAfter] Seconds to wait, if the answer said so.
   */
  constructor(status, document, retryAfter) {
    super(document.detail ?? document.title ?? `HTTP ${status}`);
    this.name = "Problem";
    this.status = status;
    this.document = document;
    /** @type {string} */ this.code = document.code ?? "";
    /** @type {string} */ this.title = document.title ?? "";
    /** @type {string} */ this.detail = document.detail ?? "";
    /** @type {string | undefined} */ this.requestId = document.requestId;
    /** @type {{field: string, message: string, row?: number, code?: string}[]} */ this.violations =
      document.errors ?? [];
    this.retryAfter = retryAfter;
  }
}

/**
 * @typedef {object} Options
 * @property {Record<string, string | number>} [path] The values of the template.
 * @property {Record<string, any>} [query] Empty members are left out; lists are joined by commas.
 * @property {any} [body] Text, Blob and FormData are sent as they are, anything else as JSON.
 * @property {string} [type] The content type of a body that is sent as it is.
 * @property {string | null} [ifMatch] The ETag that the record must still have.
 * @property {boolean} [dryRun] Check everything and save nothing.
 * @property {boolean} [raw] Return the `Response` as `data`, for downloads.
 * @property {string} [key] The `Idempotency-Key`; by default a new one for each POST that takes one.
 * @property {AbortSignal} [signal]
 * @property {(sent: number, all: number) => void} [progress] Is told how many bytes of the body have been sent.
 * @property {Record<string, string>} [headers]
 */
/**
 * @typedef {object} Answer
 * @property {any} data
 * @property {any} preview What a dry run says would change, as `Preview`.
 * @property {string | null} etag
 * @property {number} status
 * @property {Headers} headers
 */

/**
 * Send one request, and return its answer; throws `Problem`, and the reason of `signal` when it is aborted.
 * @param {string} method
 * @param {string} template Such as `/api/user/{id}`.
 * @param {Options} [options]
 * @returns {Promise<Answer>}
 */
export async function send(method, template, options = {}) {
  const headers = new Headers({ Accept: "application/json", ...options.headers });
  if (options.raw) headers.set("Accept", "*/*");
  if (options.ifMatch) headers.set("If-Match", options.ifMatch);
  if (method === "POST" && KEYED.has(template) && !options.dryRun)
    headers.set("Idempotency-Key", options.key ?? newKey());
  const { body } = options;
  const asIs = typeof body === "string" || body instanceof Blob || body instanceof FormData;
  if (body !== undefined && !asIs) headers.set("Content-Type", "application/json");
  else if (options.type) headers.set("Content-Type", options.type);
  const url = address(template, options);
  let response;
  try {
    const transmit = options.progress ? transfer(options.progress) : fetch;
    response = await transmit(url, {
      method,
      headers,
      body: body === undefined || asIs ? body : JSON.stringify(body),
      signal: options.signal ?? null,
      credentials: "same-origin",
      redirect: options.raw ? "manual" : "follow", // that of a download leads to where the page may not connect
      cache: "no-store",
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem(0, { code: "unreachable" });
  }
  if (response.type === "opaqueredirect") throw new Problem(0, { code: "elsewhere" });
  if (!response.ok) throw await problemOf(response);
  const { status } = response;
  const etag = response.headers.get("ETag");
  if (options.raw) return { data: response, preview: undefined, etag, status, headers: response.headers };
  const text = await response.text();
  const { data = null, preview } = text === "" ? {} : JSON.parse(text);
  return { data, preview, etag, status, headers: response.headers };
}

/**
 * Return what sends a request as `fetch` does, and tells how far its body has come, which `fetch` can't.
 * @param {(sent: number, all: number) => void} progress
 * @returns {(url: string, init: any) => Promise<Response>}
 */
function transfer(progress) {
  return (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      const abort = () => request.abort();
      request.open(method, url);
      for (const [name, value] of headers) request.setRequestHeader(name, value);
      request.responseType = "blob";
      request.upload.onprogress = ({ loaded, total }) => progress(loaded, total);
      request.onload = () =>
        resolve(
          new Response(request.response, {
            status: request.status,
            headers: request
              .getAllResponseHeaders()
              .trim()
              .split("\r\n")
              .map((line) => /** @type {[string, string]} */ (line.split(/: (.*)/s).slice(0, 2))),
          }),
        );
      request.onerror = () => reject(new TypeError("no answer"));
      request.onabort = () => reject(new DOMException("stopped", "AbortError"));
      request.onloadend = () => signal?.removeEventListener("abort", abort);
      signal?.addEventListener("abort", abort);
      if (signal?.aborted) abort();
      else request.send(body);
    });
}

/**
 * Return the address of a request. Throws `Problem` for a value that a browser would take for a step up.
 * @param {string} template
 * @param {Options} [options]
 */
export function address(template, { path = {}, query = {}, dryRun } = {}) {
  const filled = template.replace(/\{(\w+)\}/g, (_, name) => {
    const value = String(path[name]);
    if (/^\.{0,2}$/.test(value)) throw new Problem(404, { code: "not_found" });
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    const text = Array.isArray(value) ? value.join(",") : value;
    if (text !== undefined && text !== null && text !== "") search.set(name, String(text));
  }
  if (dryRun) search.set("dryRun", "true");
  return search.size ? `${filled}?${search}` : filled;
}

/** Return a new `Idempotency-Key`: 128 random bits. */
export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}

/** @param {Response} response */
async function problemOf(response) {
  let document = {};
  try {
    document = await response.json();
  } catch {
    // A proxy in between has answered with something else: the status must do.
  }
  const requestId = response.headers.get("X-Request-Id") ?? undefined;
  const wait = Number(response.headers.get("Retry-After") ?? NaN);
  return new Problem(response.status, { requestId, ...document }, Number.isFinite(wait) ? wait : undefined);
}
