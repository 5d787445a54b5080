// @ts-check
/**
 * The session of this browser. Tokens are in memory only and shared between its tabs: a new tab asks the others, and
 * one tab at a time refreshes. In cookie mode the cookies have them, and no tab sees them.
 */
import { Problem, newKey, send } from "./api.js";

/**
 * What proves who asks. `since` is when it was obtained, in milliseconds: the newest counts in all tabs. In cookie mode
 * both tokens are empty. `user` is whose it is, once that is known.
 * @typedef {{access: string, refresh: string, until: number, since: number, user?: number | undefined}} Proof
 */
/**
 * @typedef {object} Me
 * @property {number} id
 * @property {string} name
 * @property {string} nickName
 * @property {string | null} avatar
 * @property {string | null} email
 * @property {string[]} roles
 * @property {string[]} permissions
 */

const ASKED = 120; // ms that another tab gets to answer
const SUPERSEDED = 3000; // ms until the tab that was faster must have shared its tokens
const EARLY = 5000; // ms before its end an access token is renewed

/** @type {Proof | null} */ let proof = null;
/** @type {Promise<any> | null} */ let renewing = null;
/** @type {Promise<void> | null} */ let asking = null;
/** @type {Set<() => void>} */ const waiting = new Set();
const channel = new BroadcastChannel("portcullis");

/** What the caller may send, such as `GET /api/user/{id}`. @type {Set<string>} */ export let operations =
  new Set();
/** @type {Me | null} */ export let me = null;

/**
 * What the session asks of the page: to sign in again over what is shown (rejects when the reader gives up), to show
 * that the session was ended, to begin anew for another user, and to show rights that may have changed.
 * @type {{
 *   signIn: (problem: Problem | null) => Promise<void>,
 *   ended: () => void,
 *   restarted: () => void,
 *   changed: () => void,
 * }}
 */
export const hooks = {
  signIn: async () => {
    throw new Problem(401, { code: "unauthenticated" });
  },
  ended() {},
  restarted() {},
  changed() {},
};

channel.onmessage = (/** @type {MessageEvent} */ { data }) => {
  if (data.kind === "ask" && proof) share();
  if (data.kind === "proof" && (!proof || data.proof.since > proof.since)) {
    adopt(data.proof);
    if (me) compare(me.id, data.proof.user);
  }
  if (data.kind === "ended" && (proof || me)) forget();
};

/** Return true if this browser has a session; asks the other tabs for theirs. */
export async function find() {
  if (csrf()) adopt({ access: "", refresh: "", until: Infinity, since: Date.now() });
  else await newer(0, ASKED);
  return proof !== null;
}

/**
 * Open a session by a step of a login; throws `Problem`: that of `second_factor_required` asks for the next step.
 * @param {"/api/auth/login" | "/api/auth/login/second-factor" | "/api/auth/login/passkey"} step
 * @param {Record<string, any>} body
 */
export async function signIn(step, body) {
  const before = csrf();
  const { data } = await send("POST", step, { body });
  obtained(data, before);
}

/** Replace the tokens, which say of the session what was true when they were issued. */
export async function refresh() {
  if (proof) await renew(proof);
}

/**
 * True if this page can ask for passkeys: they belong to its address, and the browser knows them.
 */
export function takesPasskeys() {
  return document.documentElement.dataset.passkeys === location.origin && "PublicKeyCredential" in window;
}

/** Return those of the methods to prove who one is that this page can ask for. @param {readonly string[]} methods */
export function usable(methods) {
  return methods.filter((method) => method !== "passkey" || takesPasskeys());
}

/**
 * True if a refusal says that the session is of an initial password: nothing else is open before it is changed.
 * @param {unknown} problem
 */
export function isInitial(problem) {
  return (
    problem instanceof Problem &&
    problem.code === "insufficient_user_authentication" &&
    problem.document.required?.includes("@login")
  );
}

/** End the session of this device, or with `everywhere` all sessions of the user. */
export async function signOut(everywhere = false) {
  try {
    await call("POST", everywhere ? "/api/auth/logout/all" : "/api/auth/logout");
  } catch (problem) {
    // A session that is over already is what was wanted; anything else leaves it open.
    if (!(problem instanceof Problem) || problem.status !== 401) throw problem;
  }
  end();
}

/** Forget the session in all tabs: it has been ended. */
export function end() {
  channel.postMessage({ kind: "ended" });
  forget();
}

/** The refusals with 401 that say nothing against the tokens: a refresh would change nothing. */
const WITH_GOOD_TOKENS = new Set([
  "insufficient_user_authentication",
  "second_factor_required",
  "login_failed",
]);

/** @type {(problem: Problem) => Promise<boolean>} */
let stepUp = async () => false;

/**
 * Set what asks for a stronger or more recent authentication, as such a refusal demands. It answers true once the
 * session has it: then the request is sent again, once.
 * @param {(problem: Problem) => Promise<boolean>} ask
 */
export function onStepUp(ask) {
  stepUp = ask;
}

/**
 * Prove again who the caller is; the session has the new tokens in all tabs. Throws `Problem`.
 * @param {import("../types/api").StepUpOrder} order
 */
export async function prove(order) {
  const before = csrf();
  const { data } = await call("POST", "/api/auth/step-up", { body: order });
  obtained(data, before, me?.id);
}

/**
 * Send a request with the session; renews tokens that have expired, and asks for a login when the session is over.
 * @type {import("../types/call.js").Call}
 */
export const call = async (
  /** @type {string} */ method,
  /** @type {string} */ template,
  /** @type {any} */ options = {},
) => {
  const kept = method === "POST" ? { key: newKey(), ...options } : options; // a repetition is the same request
  let steppedUp = false;
  for (let attempt = 0; ; attempt += 1) {
    if (!proof) await signInAgain(null);
    if (proof && proof.until < Date.now()) await renew(proof);
    if (asking) await asking;
    const used = proof;
    try {
      return await send(method, template, { ...kept, headers: { ...kept.headers, ...credentials(method) } });
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.status !== 401 || attempt === 2) throw problem;
      if (isInitial(problem)) {
        if (me) await restart();
        throw problem;
      }
      if (problem.code === "insufficient_user_authentication" && !steppedUp) {
        steppedUp = await stepUp(problem);
        if (steppedUp) continue;
      }
      if (WITH_GOOD_TOKENS.has(problem.code)) throw problem;
      if (proof !== used) continue;
      if (attempt === 0) await renew(used);
      else await signInAgain(problem);
    }
  }
};

/** Read who the caller is, what they may call. */
export async function identify() {
  const used = proof;
  const [{ data: info }, { data: own }] = await Promise.all([
    call("GET", "/api/user/info"),
    call("GET", "/api/user/operations"),
  ]);
  operations = new Set(own.operations);
  me = {
    id: info.userId,
    name: info.userName,
    nickName: info.nickName,
    avatar: info.avatar,
    email: info.email,
    roles: info.roles,
    permissions: info.permissions,
  };
  if (proof && proof === used) proof.user = me.id;
}

/** Return the id of the user who has signed in; while that can't be found out, nobody has. Throws `Problem`. */
export async function whose() {
  const used = proof;
  try {
    const { userId } = (await send("GET", "/api/user/info", { headers: credentials("GET") })).data;
    if (used) used.user = userId;
    return userId;
  } catch (problem) {
    if (proof === used) proof = null;
    throw problem;
  }
}

/**
 * Begin anew with the session that there is: what is shown, and what waits to be sent, is of another user. Never
 * returns.
 * @returns {Promise<any>}
 */
export function restart() {
  leave();
  hooks.restarted();
  return new Promise(() => {});
}

/**
 * True if the caller may send such requests, such as `GET /api/user/{id}`, as far as permissions go.
 * @param {string | undefined} operation
 */
export function may(operation) {
  return operation === undefined || operations.has(operation);
}

/** Return the device type of this browser, made up once: only this name is stored, never a token. */
export function device() {
  const key = "portcullis.device";
  try {
    const known = localStorage.getItem(key) ?? `console-${newKey().slice(0, 12)}`;
    localStorage.setItem(key, known);
    return known;
  } catch {
    return `console-${newKey().slice(0, 12)}`; // a browser that stores nothing
  }
}

/** @param {string} method @returns {Record<string, string>} */
function credentials(method) {
  if (!proof) return {};
  if (proof.access === "") return method === "GET" ? {} : { "X-CSRF-Token": csrf() ?? "" };
  const { tokenName = "Authorization", tokenPrefix = "Bearer " } = document.documentElement.dataset;
  return { [tokenName]: tokenPrefix + proof.access };
}

/** Return the CSRF token of cookie mode; null outside it. */
function csrf() {
  return /(?:^|; )(?:__Host-)?portcullis_csrf=([^;]*)/.exec(document.cookie)?.[1] ?? null;
}

/** @param {Proof | null} used The proof that was refused. */
function renew(used) {
  renewing ??= exclusive(() => renewed(used)).finally(() => {
    renewing = null;
  });
  return renewing.then((refusal) => refusal && signInAgain(refusal));
}

/**
 * Replace `used`, by what another tab got meanwhile or by a refresh. Returns the refusal when the session is over, and
 * throws other problems: the same token can be spent once the service answers again.
 * @param {Proof | null} used
 * @returns {Promise<any>}
 */
async function renewed(used) {
  if (!used || proof !== used) return null;
  if (await newer(used.since, ASKED)) return null;
  try {
    const before = csrf();
    const { data } = await send(
      "POST",
      "/api/auth/refresh",
      used.access === ""
        ? { headers: { "X-CSRF-Token": before ?? "" } }
        : { body: { refreshToken: used.refresh } },
    );
    obtained(data, before, used.user);
    hooks.changed();
    return null;
  } catch (problem) {
    if (!(problem instanceof Problem) || ![401, 403].includes(problem.status)) throw problem;
    if (problem.document.reason === "superseded" && (await newer(used.since, SUPERSEDED))) return null;
    if (proof === used) proof = null;
    return problem;
  }
}

/** @param {Problem | null} problem Why the session is over, if that is known. */
function signInAgain(problem) {
  asking ??= hooks.signIn(problem).finally(() => {
    asking = null;
  });
  return asking;
}

/**
 * Keep new tokens; in cookie mode, where each pair comes with a new CSRF token, only that there are some.
 * @param {{accessToken: string, refreshToken: string, expiresIn: number}} pair
 * @param {string | null} before The CSRF token before the request.
 * @param {number} [user] Whose session was renewed.
 */
function obtained(pair, before, user) {
  const now = Date.now();
  const cookies = csrf() !== before;
  adopt({
    access: cookies ? "" : pair.accessToken,
    refresh: cookies ? "" : pair.refreshToken,
    since: now,
    user,
    until: now + pair.expiresIn * 1000 - Math.min(EARLY, pair.expiresIn * 100),
  });
  share();
}

/** @param {Proof} newProof */
function adopt(newProof) {
  proof = newProof;
  for (const wake of waiting) wake();
}

function share() {
  channel.postMessage({ kind: "proof", proof });
}

/**
 * Go on by the proof of another tab if it is of the user `own`, for whom this page was made. Requests wait until then.
 * @param {number} own
 * @param {number | undefined} user Whose proof it is; the tab that has just signed in does not know yet.
 */
function compare(own, user) {
  if (user === own) hooks.changed();
  else if (user !== undefined) restart();
  else {
    const asked = (asking ??= whose()
      .then((owner) => (owner === own ? undefined : restart()))
      .finally(() => {
        asking = null;
      }));
    asked.then(
      () => hooks.changed(),
      () => {},
    );
  }
}

function forget() {
  proof = null;
  leave();
  hooks.ended();
}

/** Forget the user, and what waits for a login: its page is taken away. */
function leave() {
  me = null;
  asking = null;
  operations = new Set();
}

/**
 * Ask the other tabs for a proof that is newer than `since`; returns whether there is one within `patience` ms.
 * @param {number} since
 * @param {number} patience
 */
async function newer(since, patience) {
  channel.postMessage({ kind: "ask" });
  const until = performance.now() + patience;
  while (!(proof && proof.since > since) && performance.now() < until)
    await change(until - performance.now());
  return proof !== null && proof.since > since;
}

/** Wait until there is a new proof, for at most `patience` ms. @param {number} patience */
export function change(patience) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      waiting.delete(done);
      resolve(undefined);
    };
    const timer = setTimeout(done, Math.min(patience, 2 ** 31 - 1));
    waiting.add(done);
  });
}

/**
 * Run `work` while no other tab does. Browsers have locks only in secure contexts; elsewhere the service settles races.
 * @param {() => Promise<any>} work
 */
function exclusive(work) {
  return navigator.locks ? navigator.locks.request("portcullis-refresh", work) : work();
}
