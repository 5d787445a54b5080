// @ts-check
/**
 * The client of Portcullis for browsers: one module without dependencies, which the console uses too.
 *
 * `Session` keeps the tokens in memory, shares them between the tabs of a browser, and refreshes them; `send` sends a
 * single request without them. Every refusal is a `Problem`.
 */

/** @import { Answer, Code, Given, Hooks, Me, Options, ProblemDocument, Proof } from "./types.js" */
/** @import { SessionOptions, Violation } from "./types.js" */

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
 * A refusal of the API, with the members of its problem document in `document`. `status` is 0 when there was no answer
 * at all.
 */
export class Problem extends Error {
  /**
   * Puts the texts of a refusal into another language, by their codes and parameters, before it is thrown.
   * @type {((problem: Problem) => Promise<void>) | undefined}
   */
  static translate = undefined;

  /**
   * @param {number} status
   * @param {ProblemDocument} document
   * @param {number} [retryAfter] Seconds to wait, if the answer said so.
   */
  constructor(status, document, retryAfter) {
    super(document.detail ?? document.title ?? `HTTP ${status}`);
    this.name = "Problem";
    this.status = status;
    this.document = document;
    /** @type {Code} */ this.code = document.code ?? "";
    /** @type {string} */ this.title = document.title ?? "";
    /** @type {string} */ this.detail = document.detail ?? "";
    /** @type {string | undefined} */ this.requestId = document.requestId;
    /** @type {Violation[]} */ this.violations = document.errors ?? [];
    this.retryAfter = retryAfter;
    /** What was refused, such as `POST /api/user`, if `send` has sent it. @type {string | undefined} */
    this.operation = undefined;
  }
}

/**
 * Send one request, and return its answer; throws `Problem`, and the reason of `signal` when it is aborted.
 * @param {string} method
 * @param {string} template Such as `/api/user/{id}`.
 * @param {Options} [options]
 * @returns {Promise<Answer>}
 */
export async function send(method, template, options = {}) {
  try {
    return await sent(method, template, options);
  } catch (problem) {
    if (problem instanceof Problem) problem.operation = `${method} ${template}`;
    throw problem;
  }
}

/** @param {string} method @param {string} template @param {Options} options @returns {Promise<Answer>} */
async function sent(method, template, options) {
  const headers = new Headers({ Accept: "application/json", ...options.headers });
  if (options.raw) headers.set("Accept", "*/*");
  if (options.ifMatch) headers.set("If-Match", options.ifMatch);
  if (method === "POST" && KEYED.has(template) && !options.dryRun)
    headers.set("Idempotency-Key", options.key ?? newKey());
  const { body } = options;
  const asIs = typeof body === "string" || body instanceof Blob || body instanceof FormData;
  if (body !== undefined && !asIs) headers.set("Content-Type", "application/json");
  else if (options.type) headers.set("Content-Type", options.type);
  const url = (options.base ?? "") + address(template, options);
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
  const retryAfter = Number.isFinite(wait) ? wait : undefined;
  const problem = new Problem(response.status, { requestId, ...document }, retryAfter);
  try {
    await Problem.translate?.(problem);
  } catch {
    // Without texts, they stay English.
  }
  return problem;
}

/**
 * True if one of the codes that somebody holds grants `code`: itself, `*` everything, `a:*` all below `a`, and a `*`
 * in the middle stands for one segment. This is for what a page shows; the service decides each request.
 * @param {Iterable<string>} held
 * @param {string} code A code without wildcards; `@` words are granted by nothing.
 */
export function grants(held, code) {
  if (code.startsWith("@")) return false;
  const segments = code.split(":");
  const whole = !segments.includes("");
  for (const pattern of held) {
    if (pattern === code) return true;
    const parts = pattern.split(":");
    if (!whole || parts.includes("")) continue;
    const open = parts.at(-1) === "*"; // stands for one segment or more
    const fits = open ? segments.length >= parts.length : segments.length === parts.length;
    if (fits && parts.every((part, place) => part === "*" || part === segments[place])) return true;
  }
  return false;
}

const ASKED = 120; // ms that another tab gets to answer
const SUPERSEDED = 3000; // ms until the tab that was faster must have shared its tokens
const REPEATED = 9000; // ms in which a refresh without an answer is repeated: less than refresh_race_window
const PAUSE = 500; // ms between two of these
const EARLY = 5000; // ms before its end an access token is renewed

/** The refusals with 401 that say nothing against the tokens: a refresh would change nothing. */
const WITH_GOOD_TOKENS = new Set([
  "insufficient_user_authentication",
  "second_factor_required",
  "login_failed",
]);

/**
 * True if a refusal says that the session is of an initial password: nothing else is open before it is changed.
 * @param {unknown} problem
 */
export function isInitial(problem) {
  return (
    problem instanceof Problem &&
    problem.code === "insufficient_user_authentication" &&
    Boolean(problem.document.required?.includes("@login"))
  );
}

/**
 * The session of this browser. Tokens are in memory only and shared between its tabs: a new tab asks the others, and
 * one tab at a time refreshes. In cookie mode the cookies have them, and no tab sees them.
 */
export class Session {
  /** @type {Hooks} */ hooks = {
    signIn: async (problem) => {
      throw problem ?? new Problem(401, { code: "unauthenticated" });
    },
    stepUp: async () => false,
    ended() {},
    restarted: () => globalThis.location?.reload(),
    changed() {},
  };

  /** Who the caller is, once `identify` has asked. @type {Me | null} */ me = null;
  /** What the caller may send, such as `GET /api/user/{id}`. @type {Set<string>} */ operations = new Set();

  /** @type {Proof | null} */ #proof = null;
  /** @type {Promise<any> | null} */ #renewing = null;
  /** @type {Promise<void> | null} */ #asking = null;
  /** @type {Set<() => void>} */ #waiting = new Set();
  #base;
  #own;
  #device;
  #header;
  #channel;
  /** The name under which the tabs of this browser share the session. @type {string} */ name;

  /** @param {SessionOptions} [options] */
  constructor({ base = "", device = "web", header = ["Authorization", "Bearer "], hooks = {} } = {}) {
    this.#base = base;
    const { location } = globalThis; // none outside of pages
    this.#own = base === "" || new URL(base, location?.href).origin === location?.origin;
    this.#device = device;
    this.#header = header;
    this.name = `portcullis${base}`;
    Object.assign(this.hooks, hooks);
    this.#channel = new BroadcastChannel(this.name);
    this.#channel.onmessage = (/** @type {MessageEvent} */ { data }) => {
      if (data.kind === "ask" && this.#proof) this.#share();
      if (data.kind === "proof" && (!this.#proof || data.proof.since > this.#proof.since)) {
        this.#adopt(data.proof);
        if (this.me) this.#compare(this.me.id, data.proof.user);
      }
      if (data.kind === "ended" && (this.#proof || this.me)) this.#forget();
    };
  }

  /** Return true if this browser has a session; asks the other tabs for theirs. */
  async find() {
    if (this.#csrf()) this.#adopt({ access: "", refresh: "", until: Infinity, since: Date.now() });
    else await this.#newer(null, null, ASKED);
    return this.#proof !== null;
  }

  /**
   * Log in; throws `Problem`: that of `second_factor_required` has the `challenge` and `methods` for `answer`.
   * @param {string} userName
   * @param {string} password
   */
  logIn(userName, password) {
    return this.signIn("/api/auth/login", { userName, password, device: this.device() });
  }

  /**
   * Answer the challenge of a login by a second factor; throws `Problem`.
   * @param {string} challenge
   * @param {Given} proof
   */
  answer(challenge, proof) {
    return this.signIn("/api/auth/login/second-factor", { challenge, ...proof });
  }

  /**
   * Open a session by a step of a login; throws `Problem`.
   * @param {"/api/auth/login" | "/api/auth/login/second-factor" | "/api/auth/login/passkey"
   *   | "/api/auth/oidc/token"} step
   * @param {Record<string, any>} body
   */
  async signIn(step, body) {
    const before = this.#csrf();
    const { data } = await this.#send("POST", step, { body });
    this.#obtained(data, before);
  }

  /** Replace the tokens, which say of the session what was true when they were issued. */
  async refresh() {
    if (this.#proof) await this.#renew(this.#proof, this.#csrf(), this.#signInAgain);
  }

  /** End the session of this device, or with `everywhere` all sessions of the user. */
  async signOut(everywhere = false) {
    const over = async () => {
      throw new Problem(401, { code: "unauthenticated" }); // rather than ask for a login
    };
    try {
      await this.#call("POST", everywhere ? "/api/auth/logout/all" : "/api/auth/logout", {}, over);
    } catch (problem) {
      // A session that is over already is what was wanted; anything else leaves it open.
      const ended = problem instanceof Problem && problem.status === 401;
      if (!ended || WITH_GOOD_TOKENS.has(problem.code)) throw problem;
    }
    this.end();
  }

  /** Forget the session in all tabs: it has been ended. */
  end() {
    this.#channel.postMessage({ kind: "ended" });
    this.#forget();
  }

  /**
   * Prove again who the caller is, as a refusal demands; the session has the new tokens in all tabs. Throws `Problem`.
   * @param {Given} given
   */
  async prove(given) {
    const before = this.#csrf();
    const { data } = await this.call("POST", "/api/auth/step-up", { body: given });
    this.#obtained(data, before, this.me?.id);
  }

  /**
   * Send a request with the session; renews tokens that have expired, asks for a stronger or more recent authentication
   * where that is demanded, and for a login when the session is over. Then the request is sent again. Throws `Problem`.
   * @param {string} method
   * @param {string} template Such as `/api/user/{id}`.
   * @param {Options} [options]
   * @returns {Promise<Answer>}
   */
  call = (method, template, options = {}) => this.#call(method, template, options, this.#signInAgain);

  /**
   * As `call`; `signIn` asks for a login, or throws.
   * @param {string} method
   * @param {string} template
   * @param {Options} options
   * @param {(problem: Problem | null) => Promise<void>} signIn
   * @returns {Promise<Answer>}
   */
  async #call(method, template, options, signIn) {
    const kept = method === "POST" ? { key: newKey(), ...options } : options; // a repetition is the same request
    let steppedUp = false;
    for (let attempt = 0; ; attempt += 1) {
      if (!this.#proof) await signIn(null);
      if (this.#proof && this.#proof.until < Date.now()) await this.#renew(this.#proof, this.#csrf(), signIn);
      if (this.#asking) await this.#asking;
      const used = this.#proof;
      const csrf = this.#csrf();
      try {
        const headers = { ...kept.headers, ...this.#credentials(method) };
        return await this.#send(method, template, { ...kept, headers });
      } catch (problem) {
        if (!(problem instanceof Problem) || problem.status !== 401 || attempt === 2) throw problem;
        if (isInitial(problem)) {
          if (this.me) await this.restart();
          throw problem;
        }
        if (problem.code === "insufficient_user_authentication" && !steppedUp) {
          steppedUp = await this.hooks.stepUp(problem);
          if (steppedUp) continue;
        }
        if (WITH_GOOD_TOKENS.has(problem.code)) throw problem;
        if (this.#proof !== used) continue;
        if (attempt === 0) await this.#renew(used, csrf, signIn);
        else await signIn(problem);
      }
    }
  }

  /** Read who the caller is, what they may call. */
  async identify() {
    const used = this.#proof;
    const { data: info } = await this.call("GET", "/api/user/info");
    if (info.mustChangePassword) {
      // What comes next would be refused, and the log would have it as a refusal of the user.
      if (this.me) await this.restart();
      throw new Problem(401, { code: "insufficient_user_authentication", required: ["@login"] });
    }
    const { data: own } = await this.call("GET", "/api/user/operations");
    this.operations = new Set(own.operations);
    const { userId: id, userName: name, nickName, avatar, email, roles, permissions } = info;
    const { language = null, timeZone = null } = info;
    this.me = { id, name, nickName, avatar, email, language, timeZone, roles, permissions };
    if (this.#proof && this.#proof === used) this.#proof.user = id;
  }

  /** Return the id of the user who has signed in; while that can't be found out, nobody has. Throws `Problem`. */
  async whose() {
    const used = this.#proof;
    try {
      const { data } = await this.#send("GET", "/api/user/info", { headers: this.#credentials("GET") });
      if (used) used.user = data.userId;
      return data.userId;
    } catch (problem) {
      if (this.#proof === used) this.#proof = null;
      throw problem;
    }
  }

  /**
   * Begin anew with the session that there is: what is shown, and what waits to be sent, is of another user. Never
   * returns.
   * @returns {Promise<any>}
   */
  restart() {
    this.#leave();
    this.hooks.restarted();
    return new Promise(() => {});
  }

  /** True if the caller holds a code that grants `code`, such as `orders:order:read`. @param {string} code */
  may(code) {
    return grants(this.me?.permissions ?? [], code);
  }

  /**
   * Return the caller's tree of Menus and codes. Throws `Problem`.
   * @param {string} [language] Of the titles, such as `zh-CN`; by default that of the account.
   * @returns {Promise<any>} As of `GET /api/menu/mine`.
   */
  async menus(language) {
    return (await this.call("GET", "/api/menu/mine", { query: { language } })).data;
  }

  /**
   * True if the caller may send such requests, such as `GET /api/user/{id}`, as far as permissions go.
   * @param {string | undefined} operation
   */
  mayCall(operation) {
    return operation === undefined || this.operations.has(operation);
  }

  /** Return the device type of this browser, made up once: only this name is stored, never a token. */
  device() {
    const key = "portcullis.device";
    try {
      const known = localStorage.getItem(key) ?? `${this.#device}-${newKey().slice(0, 12)}`;
      localStorage.setItem(key, known);
      return known;
    } catch {
      return `${this.#device}-${newKey().slice(0, 12)}`; // a browser that stores nothing
    }
  }

  /** Wait until there is a new proof, for at most `patience` ms. @param {number} patience */
  change(patience) {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve(undefined);
      };
      const timer = patience < Infinity ? setTimeout(done, patience) : undefined;
      this.#waiting.add(done);
    });
  }

  /** @param {string} method @param {string} template @param {Options} options */
  #send(method, template, options) {
    return send(method, template, { base: this.#base, ...options });
  }

  /**
   * Return the CSRF token of cookie mode; null outside it. Cookies go to the origin of the page alone, although pages
   * see those of other ports.
   */
  #csrf() {
    const cookies = (this.#own && globalThis.document?.cookie) || "";
    return /(?:^|; )(?:__Host-)?portcullis_csrf=([^;]*)/.exec(cookies)?.[1] ?? null;
  }

  /** @param {string} method @returns {Record<string, string>} */
  #credentials(method) {
    if (!this.#proof) return {};
    if (this.#proof.access === "") return method === "GET" ? {} : { "X-CSRF-Token": this.#csrf() ?? "" };
    const [name, prefix] = this.#header;
    return { [name]: prefix + this.#proof.access };
  }

  /**
   * @param {Proof | null} used The proof that was refused.
   * @param {string | null} csrf The CSRF token at that time.
   * @param {(problem: Problem | null) => Promise<void>} signIn
   */
  async #renew(used, csrf, signIn) {
    this.#renewing ??= this.#exclusive(() => this.#renewed(used, csrf)).finally(() => {
      this.#renewing = null;
    });
    const refusal = await this.#renewing;
    if (refusal) await signIn(refusal);
  }

  /**
   * Replace `used`, by what another tab got meanwhile or by a refresh. Returns the refusal when the session is over,
   * and throws other problems: the same token can be spent once the service answers again.
   *
   * A refresh that was answered 503 or not at all may have been done: it is repeated with the same token.
   * @param {Proof | null} used
   * @param {string | null} csrf
   * @returns {Promise<any>}
   */
  async #renewed(used, csrf) {
    if (!used || this.#proof !== used) return null;
    if (await this.#newer(used, csrf, ASKED)) return null;
    const before = this.#csrf();
    try {
      const { data } = await this.#repeated(
        used.access === ""
          ? { headers: { "X-CSRF-Token": before ?? "" } }
          : { body: { refreshToken: used.refresh } },
      );
      this.#obtained(data, before, used.user);
      this.hooks.changed();
      return null;
    } catch (problem) {
      if (!(problem instanceof Problem) || ![401, 403].includes(problem.status)) throw problem;
      if (problem.document.reason === "superseded" && (await this.#newer(used, before, SUPERSEDED)))
        return null;
      if (this.#proof !== used) return null; // another tab has signed in meanwhile
      this.#proof = null;
      return problem;
    }
  }

  /**
   * Send a refresh, and send it again while it gets no answer or 503, for at most `REPEATED` ms.
   * @param {Options} options
   * @returns {Promise<Answer>}
   */
  async #repeated(options) {
    const until = performance.now() + REPEATED;
    for (;;) {
      try {
        return await this.#send("POST", "/api/auth/refresh", options);
      } catch (problem) {
        const lost = problem instanceof Problem && [0, 503].includes(problem.status);
        if (!lost || performance.now() + PAUSE > until) throw problem;
        await new Promise((wake) => setTimeout(wake, PAUSE));
      }
    }
  }

  /**
   * Ask for a login. Another user starts anew: what is shown, and what waits to be sent, is not theirs.
   * @param {Problem | null} problem Why the session is over, if that is known.
   */
  #signInAgain = (problem) => {
    const before = this.me;
    this.#asking ??= this.hooks
      .signIn(problem, this.change(Infinity))
      .then(async () => {
        if (before && (await this.whose()) !== before.id) await this.restart();
      })
      .finally(() => {
        this.#asking = null;
      });
    return this.#asking;
  };

  /**
   * Keep new tokens; in cookie mode, where each pair comes with a new CSRF token, only that there are some.
   * @param {{accessToken: string, refreshToken: string, expiresIn: number}} pair
   * @param {string | null} before The CSRF token before the request.
   * @param {number} [user] Whose session was renewed.
   */
  #obtained(pair, before, user) {
    const now = Date.now();
    const cookies = this.#csrf() !== before;
    this.#adopt({
      access: cookies ? "" : pair.accessToken,
      refresh: cookies ? "" : pair.refreshToken,
      since: now,
      user,
      until: now + pair.expiresIn * 1000 - Math.min(EARLY, pair.expiresIn * 100),
    });
    this.#share();
  }

  /** @param {Proof} newProof */
  #adopt(newProof) {
    this.#proof = newProof;
    for (const wake of this.#waiting) wake();
  }

  #share() {
    this.#channel.postMessage({ kind: "proof", proof: this.#proof });
  }

  /**
   * Go on by the proof of another tab if it is of the user `own`, for whom this page was made. Requests wait until
   * then.
   * @param {number} own
   * @param {number | undefined} user Whose proof it is; the tab that has just signed in does not know yet.
   */
  #compare(own, user) {
    if (user === own) this.hooks.changed();
    else if (user !== undefined) this.restart();
    else {
      const asked = (this.#asking ??= this.whose()
        .then((owner) => (owner === own ? undefined : this.restart()))
        .finally(() => {
          this.#asking = null;
        }));
      asked.then(
        () => this.hooks.changed(),
        () => {},
      );
    }
  }

  #forget() {
    this.#proof = null;
    this.#leave();
    this.hooks.ended(this.change(Infinity));
  }

  /** Forget the user, and what waits for a login: its page is taken away. */
  #leave() {
    this.me = null;
    this.#asking = null;
    this.operations = new Set();
  }

  /**
   * Return whether there are tokens newer than those of `used` within `patience` ms; asks the other tabs for them. In
   * cookie mode all tabs have the same, however old their proofs are: new ones come with a new CSRF token, and the tab
   * that got them says so.
   * @param {Proof | null} used
   * @param {string | null} csrf The CSRF token of `used`.
   * @param {number} patience
   */
  async #newer(used, csrf, patience) {
    const cookies = used?.access === "";
    const isThere = () =>
      cookies ? this.#proof !== used : this.#proof !== null && this.#proof.since > (used?.since ?? 0);
    if (!cookies) this.#channel.postMessage({ kind: "ask" });
    const until = performance.now() + patience;
    while (!isThere() && performance.now() < until) await this.change(until - performance.now());
    return cookies ? ![null, csrf].includes(this.#csrf()) : isThere();
  }

  /**
   * Run `work` while no other tab does. Browsers have locks only in secure contexts; elsewhere the service settles
   * races.
   * @param {() => Promise<any>} work
   */
  async #exclusive(work) {
    return globalThis.navigator?.locks ? navigator.locks.request(`${this.name}-refresh`, work) : work();
  }
}
