// @ts-check
/**
 * Signing in with a provider: the way there, and what the browser brings back. Without cookies a verifier binds the
 * two; it is kept for as long as the tab, and no token is.
 */
import { Problem, send } from "../client/portcullis.js";
import { button } from "../core/dom.js";
import { session } from "../core/session.js";
import { PROVIDERS as T } from "../strings/providers.js";
import { trouble } from "./trouble.js";

/**
 * What a provider has led back with: the second factor that is asked for, or why nobody was signed in.
 * @typedef {{required?: {challenge: string, methods: string[], publicKey?: any}, problem?: unknown}} Back
 */

const VERIFIER = "portcullis.verifier";
const PENDING = /^#\/sign-in\?(challenge=.*)$/;
/** More than this is not kept of an address. */
const LONGEST = 1000;

/** True where the settings of the service name a provider. */
export function areThere() {
  return Boolean(document.documentElement.dataset.providers);
}

/** Put buttons that lead to the providers into `place`, or why there are none. @param {HTMLElement} place */
export async function ways(place) {
  try {
    const { items } = (await send("GET", "/api/auth/oidc")).data;
    place.replaceChildren(
      ...items.map((/** @type {import("../types/api").SignInProvider} */ { name, title }) =>
        button(T.signIn({ title }), () =>
          signInAt(name).catch((problem) => refused({ problem }, T.notBegun)),
        ),
      ),
    );
  } catch (problem) {
    place.replaceChildren(trouble(problem, () => ways(place)));
  }
}

/**
 * Say over the view why a provider has led back without what was begun, or why nothing could begin.
 * @param {Back} [back] @param {string} [title]
 */
export async function refused(back, title = T.refused) {
  if (!back?.problem) return;
  const { dialog } = await import("./dialog.js");
  dialog(title, trouble(back.problem));
}

/** Leave for a provider. @param {string} name @returns {Promise<never>} */
async function signInAt(name) {
  const query = new URLSearchParams({ ...(await beginning()), device: session.device() });
  return leave(`/api/auth/oidc/${encodeURIComponent(name)}/start?${query}`);
}

/**
 * Leave for a provider to link the own account with one there. Throws `Problem`.
 * @param {Page} page @param {string} provider
 */
export async function linkAt(page, provider) {
  const body = await beginning();
  const { data } = await page.call("POST", "/api/auth/oidc/{provider}/link", { path: { provider }, body });
  return leave(data.url);
}

/**
 * Leave for a provider to prove there who the caller is. Throws `Problem`.
 * @param {string} provider @param {import("../types/api").ProviderStepUp["acr"]} acr
 */
export async function proveAt(provider, acr) {
  const body = { ...(await beginning()), acr };
  const { data } = await session.call("POST", "/api/auth/oidc/{provider}/step-up", {
    path: { provider },
    body,
  });
  return leave(data.url);
}

/** Return the provider where the caller's session was opened; null for a session that comes from none. */
export async function ofSession() {
  if (!areThere()) return null;
  const { items } = (await session.call("GET", "/api/user/profile/origins")).data;
  return items.find(({ current, provider }) => current && provider) ?? null;
}

/**
 * Return what a provider has led back with, once its part of the address is gone: the second factor that is still asked
 * for, or why nobody was signed in; undefined for anything else, also when the session is open now.
 * @returns {Promise<Back | undefined>}
 */
export async function returned() {
  const query = new URLSearchParams(location.search);
  const pending = new URLSearchParams(PENDING.exec(location.hash)?.[1]);
  const [challenge, code, error] = [pending.get("challenge"), query.get("code"), query.get("error")];
  history.replaceState(
    null,
    "",
    challenge ? afterwards(pending.get("next")) : location.pathname + location.hash,
  );
  if (error) return { problem: new Problem(401, { code: /^[a-z_]{1,64}$/.test(error) ? error : "" }) };
  try {
    if (challenge) {
      const body = { challenge };
      const { data } = await send("POST", "/api/auth/login/second-factor/options", { body });
      return { required: { challenge, ...data } };
    }
    if (!code) return undefined;
    await session.signIn("/api/auth/oidc/token", { code, verifier: kept() });
    return undefined;
  } catch (problem) {
    const isStep = problem instanceof Problem && problem.code === "second_factor_required";
    if (isStep) return { required: /** @type {any} */ (problem.document) };
    // The challenge, or the code, is not good any more: that says nothing about a password.
    const over = problem instanceof Problem && problem.code === "login_failed";
    return { problem: over ? new Problem(401, { code: "sign_in_failed" }) : problem };
  }
}

/**
 * Return the address of a view, if `next` is one of the console; that of the first one else.
 * @param {string | null} next
 */
function afterwards(next) {
  const [path, view = "/"] = (next ?? "").split(/#(.*)/s);
  return `${location.pathname}#${path === location.pathname ? view : "/"}`;
}

/**
 * Return where to come back to, and without cookies the challenge of a new verifier.
 * @returns {Promise<{next: string, challenge?: string}>}
 */
async function beginning() {
  const address = location.hash.length <= LONGEST ? location.hash : "";
  const next = `${location.pathname}${address}`;
  if (document.documentElement.dataset.session === "browser") return { next };
  const verifier = encoded(crypto.getRandomValues(new Uint8Array(48)));
  try {
    sessionStorage.setItem(VERIFIER, verifier);
  } catch {
    throw new Problem(400, { code: "storage_forbidden" }); // what comes back could not be redeemed
  }
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return { next, challenge: encoded(new Uint8Array(digest)) };
}

/** Return the verifier of the sign-in under way, and forget it. */
function kept() {
  const verifier = sessionStorage.getItem(VERIFIER) ?? "";
  sessionStorage.removeItem(VERIFIER);
  return verifier;
}

/** @param {Uint8Array} bytes */
function encoded(bytes) {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Go to another page; never returns. @param {string} url @returns {Promise<never>} */
function leave(url) {
  location.assign(url);
  return new Promise(() => {});
}
