// @ts-check
/** Asks for a login: as a page before there is a session, as a dialog over the page when one has ended. */
import { Problem } from "../client/portcullis.js";
import { h, link } from "../core/dom.js";
import { LANGUAGES, languageOfPage, useLanguage } from "../core/texts.js";
import { session, takesPasskeys } from "../core/session.js";
import { alone, userNameField } from "../parts/alone.js";
import { attempting, requested, trouble } from "../parts/trouble.js";
import { form } from "../parts/form.js";
import { SIGN_IN } from "../strings/sign-in.js";

const FORGOTTEN = "/forgotten";

/** @typedef {import("../parts/providers.js").Back} Back */

/**
 * Show the page; returns once there is a session, also when another tab has opened it.
 * @param {Back} back
 * @param {Promise<unknown>} elsewhere Settled once another tab has signed in.
 */
export async function page({ required, problem }, elsewhere) {
  let settle = () => {};
  const done = new Promise((resolve) => {
    settle = () => resolve(undefined);
  });
  const { session: kept, mail, providers } = document.documentElement.dataset;
  const draw = () => {
    const shown = credentials("", settle);
    alone(
      SIGN_IN.title,
      SIGN_IN.about,
      problem !== undefined && trouble(problem),
      shown.element,
      providers && ways(),
      mail && h("p", null, link(FORGOTTEN, SIGN_IN.forgotten)),
      kept === "tab" && h("p", { class: "help" }, SIGN_IN.ends),
      languages(draw),
    );
    return shown;
  };
  const proofs = draw();
  if (required) await proofs.step(required);
  await Promise.race([done, elsewhere]);
}

/**
 * Ask over what is shown; returns once there is a session, and throws `Problem` when the reader gives up.
 * @param {Problem | null} problem Why the session is over.
 * @param {Promise<unknown>} elsewhere Settled once another tab has signed in, also before this is shown.
 */
export async function again(problem, elsewhere) {
  const { dialog } = await import("../parts/dialog.js"); // the page asks without it
  const settle = () => box.close(true);
  const refused = problem?.status === 403;
  const box = dialog(
    SIGN_IN.again,
    refused && trouble(problem),
    h("p", null, SIGN_IN.againText),
    credentials(session.me?.name ?? "", settle).element,
    document.documentElement.dataset.providers && ways(),
    !refused && requested(problem), // for the support: nobody else needs it
  );
  elsewhere.then(settle);
  if (!(await box.closed)) throw problem ?? new Problem(401, { code: "unauthenticated" });
}

/** Return the choice of the language, each by its own name; nothing where there is one. @param {() => void} draw */
function languages(draw) {
  const known = Object.entries(LANGUAGES);
  if (known.length < 2) return null;
  return h(
    "select",
    {
      class: "languages",
      name: "language",
      "aria-label": SIGN_IN.language,
      value: languageOfPage(),
      onchange: async (/** @type {Event} */ { target }) => {
        if (await useLanguage(/** @type {HTMLSelectElement} */ (target).value)) location.reload();
        else draw();
      },
    },
    known.map(([tag, { name }]) => h("option", { value: tag, lang: tag }, name)),
  );
}

/** Return what the ways to providers come to. */
function ways() {
  const place = h("div", { class: "proofs" });
  import("../parts/providers.js").then((providers) => providers.ways(place));
  return place;
}

/**
 * Return what asks for a name and a password, and then for a second factor; `step` asks for that at once.
 * @param {string} name @param {() => void} done
 */
function credentials(name, done) {
  const step = async (/** @type {any} */ required) =>
    (await import("../parts/second-step.js")).inPlaceOf(element, asked, required, done);
  const element = h("div", { class: "proofs" });
  const asked = form({
    fields: [
      userNameField(SIGN_IN.userName, name),
      {
        name: "password",
        label: SIGN_IN.password,
        type: "password",
        required: true,
        attributes: { autocomplete: "current-password", autofocus: name !== "" },
      },
    ],
    submit: SIGN_IN.submit,
    quiet: true,
    save: async ({ userName, password }) => {
      try {
        await session.logIn(userName, password);
        done();
      } catch (problem) {
        if (!(problem instanceof Problem) || problem.code !== "second_factor_required") throw problem;
        await step(problem.document);
      }
    },
  });
  element.append(asked);
  if (takesPasskeys())
    element.append(
      ...attempting(SIGN_IN.passkey, {}, async () => {
        const { passkeyAlone } = await import("../parts/second-step.js");
        await passkeyAlone();
        done();
      }),
    );
  return { element, step };
}
