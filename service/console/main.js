// @ts-check
/** Starts the console: finds the session of this browser, or asks for a login, and shows the view of the address. */
import { Problem, isInitial } from "./client/portcullis.js";
import { session } from "./core/session.js";
import { h } from "./core/dom.js";
import { useLanguage } from "./core/texts.js";
import { trouble } from "./parts/trouble.js";

/** What a provider leads back with. */
const BACK = /[?&](?:code|error)=|#\/sign-in\?challenge=/;
/** The addresses of pages for those who can't sign in, or need not; what follows is their token. */
const LINK =
  /^#(?:\/|%2F)(forgotten|invitation|password-reset|address|address-undo|end-sessions)(?![\w-])(.*)$/i;
/** How a link ends that has arrived whole: its token has 256 bits. */
const WHOLE = /^\?token=([\w-]{43})$/;
/** A mail program has encoded the # of a link, so that it is part of the path. */
const REENCODED = /%23/i.test(location.pathname);
/** The styles that only views after a login need. */
const LATER = ["lists", "policy"];
/** @type {Promise<unknown> | undefined} */
let styles;

session.hooks.signIn = async (problem, elsewhere) => {
  if (!session.me) throw problem ?? new Problem(401, { code: "unauthenticated" }); // nothing is shown yet, or any more
  const { again } = await import("./views/sign-in.js");
  await again(problem, elsewhere);
};
session.hooks.ended = async (elsewhere) => {
  const { close } = await import("./core/frame.js");
  close();
  try {
    await ask({}, elsewhere);
  } catch {
    location.reload(); // the page that asks for a login can't be loaded; it is another one after an upgrade
  }
};
session.hooks.restarted = async () => {
  const { close } = await import("./core/frame.js");
  close();
  await begin();
};
session.hooks.stepUp = async (problem) => (await import("./parts/step-up.js")).stepUp(problem);
// A page that comes back from the history has missed what happened to its session.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
try {
  document.documentElement.dataset.theme = localStorage.getItem("portcullis.theme") ?? "auto";
} catch {
  // A browser that stores nothing follows the system.
}
// A link is its own start, also where this page is open already.
addEventListener("hashchange", () => {
  if (LINK.test(location.hash)) location.reload();
});
await followed();
const providers = BACK.test(location.href) ? await import("./parts/providers.js") : null;
const back = await providers?.returned();
if (back?.required || !(await session.find())) await ask(back);
else {
  await begin();
  await providers?.refused(back);
}

/** Show what the link of a mail leads to, until the reader is done with it. Its token stays in no address. */
async function followed() {
  const [, path, rest] = LINK.exec(location.hash) ?? [];
  if (!path && !REENCODED) return;
  const { broken, page } = await import("./views/links.js");
  const [, token] = WHOLE.exec(rest ?? "") ?? [];
  history.replaceState(null, "", REENCODED ? "/console#/" : "#/");
  if (path === "forgotten") await page(path, "");
  else if (path && token) await page(path, token);
  else await broken();
}

/** Add the styles of `LATER` to the page, once; return when they are in force. */
function styled() {
  styles ??= Promise.all(
    LATER.map(
      (name) =>
        new Promise((done) => {
          const href = new URL(`./style/${name}.css`, import.meta.url).href;
          document.head.append(h("link", { rel: "stylesheet", href, onload: done, onerror: done }));
        }),
    ),
  );
  return styles;
}

async function begin() {
  try {
    await session.identify();
    const other = await useLanguage(session.me?.language);
    if (other && document.documentElement.dataset.session !== "tab") return location.reload();
    const [{ open }, { VIEWS }] = await Promise.all([
      import("./core/frame.js"),
      import("./loaders.js"),
      styled(),
    ]);
    await open(VIEWS);
  } catch (problem) {
    if (isInitial(problem)) await renewPassword();
    else if (problem instanceof Problem && problem.status === 401) await ask();
    else if (!document.querySelector("main")?.childElementCount) {
      document.body.replaceChildren(
        h(
          "main",
          { class: "alone" },
          trouble(problem, () => location.reload()),
        ),
      );
    }
  }
}

/** Show the page that changes an initial password, and then the address. */
async function renewPassword() {
  const [{ close }, { page }] = await Promise.all([
    import("./core/frame.js"),
    import("./views/initial-password.js"),
  ]);
  close();
  await page();
  await begin();
}

/**
 * Show the page that asks for a login; the address stays, so that a deep link survives it.
 * @param {import("./parts/providers.js").Back} [back]
 * @param {Promise<unknown>} [elsewhere] Settled once another tab has signed in.
 */
async function ask(back = {}, elsewhere = session.change(Infinity)) {
  const { page } = await import("./views/sign-in.js");
  await page(back, elsewhere);
  await begin();
}
