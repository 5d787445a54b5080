// @ts-check
/** The second step of a login: a code of an app, a recovery code, or a passkey. */
import { send } from "../client/portcullis.js";
import { button, h, pieces } from "../core/dom.js";
import { session, usable } from "../core/session.js";
import { TROUBLE } from "../strings/common.js";
import { SECOND_STEP as T } from "../strings/second-step.js";
import { form } from "./form.js";
import { attempting, notProved } from "./trouble.js";

/**
 * Return what asks for a second factor, by the first of the caller's methods, with the way to the others.
 * @param {{challenge: string, methods: string[], publicKey?: any}} required What the first step was refused with.
 * @param {() => void} done
 * @param {() => void} back Begins anew.
 * @param {(answer: Record<string, any>) => Promise<void>} [prove] Sends the answer; by default to open the session.
 */
export function secondStep({ challenge, methods, publicKey }, done, back, prove) {
  const offered = usable(methods);
  const element = h("div", { class: "proofs" });
  const proved = async (/** @type {Record<string, any>} */ answer) => {
    if (prove) await prove(answer);
    else await session.answer(challenge, /** @type {any} */ (answer));
    done();
  };
  /** @param {string} method */
  const show = (method) => {
    const others = offered.filter((other) => other !== method);
    const all = pieces([
      h("h2", null, T.title),
      h("p", { class: "help" }, T.about[method] ?? TROUBLE.passkeyElsewhere),
      method === "passkey" ? passkey(publicKey, proved) : method && code(method, proved),
      others.map((other) => button(T.instead[other], () => show(other), { kind: "quiet" })),
      button(T.back, back, { kind: "quiet" }),
    ]);
    element.replaceChildren(...all);
    /** @type {HTMLElement | null} */ (element.querySelector("input, button"))?.focus();
  };
  show(offered[0] ?? "");
  return element;
}

/**
 * Ask for a second factor in place of what has asked for the first, which comes back when the reader begins anew.
 * @param {HTMLElement} element
 * @param {import("./form.js").Form} asked The form in it.
 * @param {Parameters<typeof secondStep>[0]} required
 * @param {() => void} done
 */
export function inPlaceOf(element, asked, required, done) {
  const second = secondStep(required, done, () => {
    asked.fill({ password: "" });
    second.replaceWith(element);
    asked.querySelector("input")?.focus();
  });
  element.replaceWith(second);
  /** @type {HTMLElement | null} */ (second.querySelector("input, button"))?.focus();
}

/** @param {string} method @param {(answer: Record<string, any>) => Promise<void>} prove */
function code(method, prove) {
  const digits = method === "totp";
  return form({
    fields: [
      {
        name: "code",
        label: T.code[method],
        required: true,
        attributes: {
          autocomplete: digits ? "one-time-code" : "off",
          inputmode: digits ? "numeric" : "text",
          autocapitalize: digits ? "none" : "characters",
          spellcheck: "false",
          maxlength: 64,
        },
      },
    ],
    submit: T.submit,
    quiet: true,
    save: async ({ code: typed }) => {
      try {
        await prove({ method, code: digits ? typed.replaceAll(/\s/g, "") : typed.trim() });
      } catch (problem) {
        throw notProved(problem, "code", T.wrong);
      }
    },
  });
}

/** @param {any} publicKey @param {(answer: Record<string, any>) => Promise<void>} prove */
function passkey(publicKey, prove) {
  return attempting(T.usePasskey, { kind: "primary" }, () =>
    byPasskey(async ({ use }) => prove({ method: "passkey", credential: await use(publicKey) })),
  );
}

/** Sign in by a passkey alone. Throws `Problem`. */
export function passkeyAlone() {
  return byPasskey(async ({ use }) => {
    const { challenge, publicKey } = (await send("POST", "/api/auth/login/passkey/options")).data;
    const credential = await use(publicKey);
    await session.signIn("/api/auth/login/passkey", { challenge, credential, device: session.device() });
  });
}

/** @param {(passkeys: typeof import("./passkeys.js")) => Promise<void>} act */
async function byPasskey(act) {
  try {
    await act(await import("./passkeys.js"));
  } catch (problem) {
    throw notProved(problem);
  }
}
