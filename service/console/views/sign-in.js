// @ts-check
/** Asks for a login: as a page before there is a session, as a dialog over the page when one has ended. */
import { Problem } from "../core/api.js";
import { h, link } from "../core/dom.js";
import * as session from "../core/session.js";
import { alone } from "../parts/alone.js";
import { attempting, requested, trouble } from "../parts/trouble.js";
import { form } from "../parts/form.js";
import { SIGN_IN } from "../strings/sign-in.js";

const FORGOTTEN = "/forgotten";

/** Show the page; returns once there is a session, also when another tab has opened it. */
export async function page() {
  let settle = () => {};
  const done = new Promise((resolve) => {
    settle = () => resolve(undefined);
  });
  const { session: kept, mail } = document.documentElement.dataset;
  alone(
    SIGN_IN.title,
    SIGN_IN.about,
    credentials("", settle),
    mail && h("p", null, link(FORGOTTEN, SIGN_IN.forgotten)),
    kept === "tab" && h("p", { class: "help" }, SIGN_IN.ends),
  );
  await Promise.race([done, elsewhere()]);
}

/**
 * Ask over what is shown; returns once there is a session, and throws `Problem` when the reader gives up. Another user
 * starts anew: what is shown is not theirs.
 * @param {Problem | null} problem Why the session is over.
 */
export async function again(problem) {
  const before = session.me;
  const { dialog } = await import("../parts/dialog.js"); // the page asks without it
  const settle = () => box.close(true);
  const why = problem && problem.status === 403 ? trouble(problem) : requested(problem);
  const box = dialog(
    SIGN_IN.again,
    why,
    h("p", null, SIGN_IN.againText),
    credentials(before?.name ?? "", settle),
  );
  elsewhere().then(settle);
  if (!(await box.closed)) throw problem ?? new Problem(401, { code: "unauthenticated" });
  if (before && (await session.whose()) !== before.id) await session.restart();
}

/** Wait until another tab has signed in. */
async function elsewhere() {
  await session.change(Infinity);
}

/** @param {string} name @param {() => void} done */
function credentials(name, done) {
  const element = h("div", { class: "proofs" });
  const asked = form({
    fields: [
      {
        name: "userName",
        label: SIGN_IN.userName,
        required: true,
        value: name,
        attributes: { autocomplete: "username", autocapitalize: "none", spellcheck: "false", maxlength: 64 },
      },
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
        await session.signIn("/api/auth/login", { userName, password, device: session.device() });
        done();
      } catch (problem) {
        if (!(problem instanceof Problem) || problem.code !== "second_factor_required") throw problem;
        const { secondStep } = await import("../parts/second-step.js");
        const required = /** @type {any} */ (problem.document);
        const step = secondStep(required, done, () => {
          asked.fill({ password: "" });
          step.replaceWith(element);
          asked.querySelector("input")?.focus();
        });
        element.replaceWith(step);
        /** @type {HTMLElement | null} */ (step.querySelector("input, button"))?.focus();
      }
    },
  });
  element.append(asked);
  if (session.takesPasskeys())
    element.append(
      ...attempting(SIGN_IN.passkey, {}, async () => {
        const { passkeyAlone } = await import("../parts/second-step.js");
        await passkeyAlone();
        done();
      }),
    );
  return element;
}
