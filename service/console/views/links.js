// @ts-check
/** The pages that links in mails lead to, and the one that asks for such a mail. Nobody needs to have signed in. */
import { send } from "../client/portcullis.js";
import { button, h } from "../core/dom.js";
import { alone, userNameField } from "../parts/alone.js";
import { form } from "../parts/form.js";
import { fresh } from "../parts/password.js";
import { attempting } from "../parts/trouble.js";
import { LINKS as T } from "../strings/links.js";

/** @typedef {{title: string, about: string, submit: string, done: string}} Texts */

/** What each page shows; it calls `done` once that is done. @type {Record<string, Shown>} */
const PAGES = {
  forgotten: (_, done) => [T.forgotten, name(done)],
  invitation: (token, done) => [
    T.invitation,
    passwords(T.invitation.submit, async (password) => {
      await send("POST", "/api/auth/invitation", { body: { token, password } });
      done();
    }),
  ],
  "password-reset": (token, done) => [T.reset, reset(token, done)],
  address: (token, done) => [
    T.address,
    ...acting(T.address, () => send("POST", "/api/auth/address", { body: { token } }), done),
  ],
  "address-undo": (token, done) => [
    T.undo,
    ...acting(T.undo, () => send("POST", "/api/auth/address/undo", { body: { token } }), done),
  ],
  "end-sessions": (token, done) => [
    T.sessions,
    ...acting(T.sessions, () => send("POST", "/api/auth/sessions/end", { body: { token } }), done),
  ],
};

/** @typedef {(token: string, done: () => void) => [Texts, ...any[]]} Shown */

/**
 * Show the page of a link; returns once the reader wants to sign in.
 * @param {string} path The part of the address before the token.
 * @param {string} token
 * @returns {Promise<void>}
 */
export function page(path, token) {
  return new Promise((resolve) => {
    const back = () => button(T.toSignIn, () => resolve(), { kind: "quiet" });
    const [texts, ...nodes] = PAGES[path](token, () =>
      alone(
        texts.title,
        texts.done,
        button(T.toSignIn, () => resolve(), { kind: "primary" }),
      ),
    );
    alone(texts.title, texts.about, ...nodes, back());
  });
}

/** Say that a link has not arrived whole; returns once the reader wants to sign in. @returns {Promise<void>} */
export function broken() {
  return new Promise((resolve) => {
    alone(
      T.broken.title,
      T.broken.about,
      button(T.toSignIn, () => resolve(), { kind: "primary" }),
    );
  });
}

/** @param {Texts} texts @param {() => Promise<any>} act @param {() => void} done */
function acting(texts, act, done) {
  return attempting(texts.submit, { kind: "primary" }, async () => {
    await act();
    done();
  });
}

/** Return what asks for a mail with a link. @param {() => void} done */
function name(done) {
  return form({
    fields: [userNameField(T.forgotten.userName)],
    submit: T.forgotten.submit,
    quiet: true,
    save: async ({ userName }) => {
      await send("POST", "/api/auth/password-reset", { body: { userName } });
      done();
    },
  });
}

/** Return what asks for a new password. @param {string} submit @param {(password: string) => Promise<void>} save */
function passwords(submit, save) {
  const made = form({
    fields: fresh("password", () => made.values()),
    submit,
    quiet: true,
    save: ({ password }) => save(password),
  });
  return made;
}

/**
 * Return what asks for a new password, and then for a second factor of those who have one.
 * @param {string} token
 * @param {() => void} done
 */
function reset(token, done) {
  const element = h("div", { class: "proofs" });
  const asked = passwords(T.reset.submit, async (password) => {
    const confirm = (/** @type {Record<string, any>} */ answer) =>
      send("POST", "/api/auth/password-reset/confirm", { body: { token, password, ...answer } });
    const { data } = await send("POST", "/api/auth/password-reset/options", { body: { token } });
    if (data.methods.length === 0) {
      await confirm({});
      return done();
    }
    const { secondStep } = await import("../parts/second-step.js");
    const back = () => {
      step.replaceWith(asked);
      asked.querySelector("input")?.focus();
    };
    const step = secondStep(data, done, back, async (answer) => {
      await confirm(answer);
    });
    asked.replaceWith(step);
    /** @type {HTMLElement | null} */ (step.querySelector("input, button"))?.focus();
  });
  element.append(asked);
  return element;
}
