// @ts-check
/** Asks who is there once more, when a request demands a stronger or a more recent authentication. */
import { Problem } from "../client/portcullis.js";
import { button, h } from "../core/dom.js";
import { session, usable } from "../core/session.js";
import { PROVIDERS } from "../strings/providers.js";
import { STEP_UP as T } from "../strings/step-up.js";
import { dialog } from "./dialog.js";
import { form } from "./form.js";
import { notProved } from "./trouble.js";

/** @typedef {import("../types/api").StepUpOrder} Order */

/** The proof at the provider where the session was opened. */
const PROVIDER = "provider";

/** The field of each method; a passkey has none. @type {Record<string, import("./form.js").Field>} */
const FIELDS = {
  password: {
    name: "password",
    label: T.password,
    type: "password",
    required: true,
    attributes: { autocomplete: "current-password" },
  },
  totp: {
    name: "code",
    label: T.code,
    help: T.codeHelp,
    required: true,
    attributes: { autocomplete: "one-time-code", inputmode: "numeric", maxlength: 16 },
  },
  recovery_code: {
    name: "code",
    label: T.recoveryCode,
    required: true,
    attributes: { autocapitalize: "none", spellcheck: "false", maxlength: 64 },
  },
};

/** The question that is asked now. @type {{demand: string, element: HTMLElement, answer: Promise<boolean>} | null} */
let asked = null;

/**
 * Ask for one of the proofs that a refusal names, and return whether the session has it. Refusals with the same demand
 * share one question, the others wait for their turn. Where no proof of the caller would do, nothing is asked: the
 * refusal says what to do.
 * @param {Problem} problem
 */
export async function stepUp({ document: { methods = [], required = [], acrValues = [] } }) {
  const provider = document.documentElement.dataset.providers ? await provenAt() : null;
  const offered = usable(methods);
  const [first, ...others] = provider ? [PROVIDER, ...offered] : offered;
  if (!first) return false;
  const demand = required.join();
  // One that another user's login has taken away is never answered.
  while (asked?.element.isConnected) {
    const { demand: same, answer } = asked;
    const proved = await answer;
    if (same === demand) return proved;
  }
  const content = h("div", null);
  const box = dialog(T.title, h("p", null, T.needs(required)), content);
  const show = (/** @type {string[]} */ offered, /** @type {string} */ method) => {
    const shown = proofForm(method, {
      provider,
      acr: acrValues[0] ?? "pwd",
      done: () => box.close(true),
      cancel: () => box.close(false),
      strong: required.every((/** @type {string} */ word) => word.startsWith("@phishing-resistant")),
      others: offered.filter((other) => other !== method),
      choose: (other, all = offered) => show(all, other),
    });
    content.replaceChildren(shown);
    /** @type {HTMLElement | null} */ (shown.querySelector("input, [type=submit]"))?.focus();
  };
  show([first, ...others], first);
  asked = { demand, element: box.element, answer: box.closed.then(Boolean) };
  return asked.answer;
}

/**
 * @param {string} method
 * @param {object} around
 * @param {import("../types/api").UserOrigin | null} around.provider Where the session was opened.
 * @param {import("../types/api").ProviderStepUp["acr"]} around.acr What is to be proved there.
 * @param {() => void} around.done
 * @param {() => void} around.cancel
 * @param {boolean} around.strong Whether nothing but a passkey would do.
 * @param {string[]} around.others
 * @param {(other: string, all?: string[]) => void} around.choose
 */
function proofForm(method, { provider, acr, done, cancel, strong, others, choose }) {
  const field = FIELDS[method];
  const title = method === PROVIDER && provider ? provider.title : null;
  return form({
    fields: field ? [field] : [],
    before: title
      ? h("p", null, PROVIDERS.proveText({ title }))
      : !field && h("p", null, T.passkeyText, !others.length && !strong && T.passkeyOnly),
    after:
      others.length > 0 &&
      h(
        "p",
        { class: "others" },
        others.map((other) =>
          button(
            other === PROVIDER && provider
              ? PROVIDERS.prove({ title: provider.title })
              : (T.others[other] ?? other),
            () => choose(other),
            { kind: "quiet" },
          ),
        ),
      ),
    submit: title ? PROVIDERS.prove({ title }) : field ? T.submit : T.passkey,
    quiet: true,
    trailing: true,
    cancel,
    save: async (values) => {
      if (title && provider) return (await import("./providers.js")).proveAt(provider.source, acr);
      try {
        const proof = field ? values : { credential: await credential() };
        await session.prove({ method: /** @type {Order["method"]} */ (method), ...proof });
        done();
      } catch (problem) {
        const { code, document } = problem instanceof Problem ? problem : {};
        const enrolled = code === "second_factor_required" ? usable(document?.methods ?? []) : [];
        if (enrolled[0]) return choose(enrolled[0], enrolled); // meanwhile
        throw notProved(problem, field?.name, T.wrong);
      }
    },
  });
}

/** Return where the session was opened; null if that can't be read: the other proofs do without. */
async function provenAt() {
  try {
    return await (await import("./providers.js")).ofSession();
  } catch {
    return null;
  }
}

/** Return what a passkey of the caller has answered. Throws `Problem`. */
async function credential() {
  const [{ use }, { data }] = await Promise.all([
    import("./passkeys.js"),
    session.call("POST", "/api/auth/step-up/options"),
  ]);
  return use(/** @type {any} */ (data.publicKey));
}
