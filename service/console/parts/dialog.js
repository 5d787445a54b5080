// @ts-check
/** Dialogs, questions and short messages. */
import { button, h } from "../core/dom.js";
import { ACTION } from "../strings/common.js";
import { late, trouble } from "./trouble.js";

/**
 * A dialog that is shown.
 * @typedef {{element: HTMLDialogElement, body: HTMLElement, close: (value?: any) => void, closed: Promise<any>}} Box
 */

let made = 0;

late.show = (title, problem) => dialog(title, trouble(problem));

/**
 * Show a dialog over the page; the focus returns when it closes. Closes by Escape and its button, unless `fixed`.
 * @param {string} title
 * @param {...import("../core/dom.js").Child} nodes
 * @returns {Box}
 */
export function dialog(title, ...nodes) {
  const id = `dialog-${++made}`;
  const body = h("div", { class: "dialog-body" }, nodes);
  const element = h(
    "dialog",
    { "aria-labelledby": id },
    h(
      "div",
      { class: "dialog-head" },
      h("h2", { id }, title),
      button(ACTION.close, () => close(undefined), { icon: "close", label: true, kind: "quiet" }),
    ),
    body,
  );
  const before = document.activeElement;
  /** @type {(value: any) => void} */ let settle;
  const closed = new Promise((resolve) => {
    settle = resolve;
  });
  /** @param {any} [value] */
  const close = (value) => {
    if (!element.isConnected) return;
    element.close();
    element.remove();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
    settle(value);
  };
  element.addEventListener("click", ({ target }) => {
    if (/** @type {Element} */ (target).closest("a[href^='#']")) close(undefined);
  }); // to another view
  element.addEventListener("cancel", (event) => {
    event.preventDefault();
    close(undefined);
  });
  document.body.append(element);
  element.showModal();
  const first = body.querySelector("[autofocus]") ?? body.querySelector("input, select, textarea");
  if (first instanceof HTMLElement) first.focus();
  return { element, body, close, closed };
}

/**
 * Ask before something happens; the title and the text name what will. Returns false, or the values of `extra`.
 * `extra` are fields as in `form`, or nodes that are only shown. With `act`, the dialog stays open while it runs and
 * shows its problem, so that nothing typed is lost.
 * @param {{
 *   title: string,
 *   text?: import("../core/dom.js").Child,
 *   confirm: string,
 *   danger?: boolean,
 *   extra?: any[],
 *   wide?: boolean,
 *   act?: (values: any, how: {key: string, box: Box}) => Promise<any>,
 * }} question
 * @returns {Promise<false | Record<string, any>>}
 */
export async function ask({ title, text, confirm, danger = false, extra = [], wide = false, act }) {
  const { form } = await import("./form.js");
  /** The act that is under way, with what it is given. */
  const doing = /** @type {{act: Promise<Record<string, any>> | null}} */ ({ act: null });
  const fields = extra.filter((item) => !(item instanceof Node));
  const content = form({
    fields,
    submit: confirm,
    danger,
    before: [
      typeof text === "string" ? h("p", null, text) : text,
      extra.filter((item) => item instanceof Node),
    ],
    save: async (values, how) => {
      doing.act = Promise.resolve(act?.(values, { ...how, box })).then(() => values);
      try {
        box.close(await doing.act);
      } finally {
        if (box.element.isConnected) doing.act = null;
      }
    },
    cancel: () => box.close(false),
    quiet: true,
    trailing: true,
  });
  const box = dialog(title, content);
  box.element.classList.toggle("wide", wide);
  if (fields.length === 0)
    /** @type {HTMLElement | null} */ (
      content.querySelector(danger ? "[data-cancel]" : "[type=submit]")
    )?.focus();
  const answer = (await box.closed) ?? false;
  // Closed before the service answered: the act goes on. If it is refused, the form has said so.
  return answer === false && doing.act ? doing.act.catch(() => false) : answer;
}

/**
 * Ask as `ask` does; then say that it is done, and show the page or list anew. Returns whether it was done.
 * @param {{reload: () => Promise<unknown>}} shown
 * @param {string} done
 * @param {Parameters<typeof ask>[0]} question
 */
export async function settled(shown, done, question) {
  if (!(await ask(question))) return false;
  tell(done);
  await shown.reload();
  return true;
}

/**
 * Show the second step of a dialog in place of its first, with the way back to it.
 * @param {Box} box
 * @param {{
 *   title: string,
 *   text: import("../core/dom.js").Child,
 *   confirm: string,
 *   danger?: boolean,
 *   wide?: boolean,
 *   fields?: import("./form.js").Field[],
 *   act: (values: any) => Promise<any>,
 * }} question
 * @returns {Promise<boolean>} Whether it was done; the first step is shown again then, too.
 */
export async function secondStep({ element, body, closed }, question) {
  const { title, text, confirm, danger, wide, fields = [], act } = question;
  const { form } = await import("./form.js");
  const heading = /** @type {HTMLElement} */ (element.querySelector("h2"));
  const [first, called] = [[...body.childNodes], heading.textContent];
  const large = element.classList.contains("wide");
  const show = (
    /** @type {string | null} */ name,
    /** @type {Node[]} */ nodes,
    /** @type {boolean} */ broad,
  ) => {
    heading.textContent = name;
    element.classList.toggle("wide", broad);
    body.replaceChildren(...nodes);
    /** @type {HTMLElement | null} */ (
      body.querySelector(danger ? "[data-cancel]" : "[type=submit]")
    )?.focus();
  };
  return new Promise((resolve) => {
    const end = (/** @type {boolean} */ done) => {
      show(called, first, large);
      resolve(done);
    };
    const content = form({
      fields,
      submit: confirm,
      danger,
      before: text,
      save: async (values) => {
        await act(values);
        end(true);
      },
      cancel: () => end(false),
      back: ACTION.back,
      quiet: true,
      trailing: true,
    });
    closed.then(() => resolve(false));
    show(title, [content], Boolean(wide));
    /** @type {HTMLElement | null} */ (content.querySelector("input, select, textarea"))?.focus();
  });
}

/** The button that takes the last act back: its message stands until the next act, or until the frame closes. */
const UNDO = "#messages [aria-keyshortcuts]";

/**
 * Say something in passing, in the corner and to screen readers. With `undo`, a button and Ctrl+Z take it back, until
 * the next act or until the reader closes it.
 * @param {string} text
 * @param {{undo?: () => Promise<any>}} [options]
 */
export function tell(text, { undo } = {}) {
  document.querySelector(UNDO)?.closest(".message")?.remove();
  const back =
    undo &&
    button(
      ACTION.undo,
      async () => {
        try {
          await undo();
          dismiss();
        } catch (problem) {
          message.replaceChildren(trouble(problem), close);
        }
      },
      { title: ACTION.undoKeys, "aria-keyshortcuts": "Control+Z Meta+Z" },
    );
  const dismiss = () => message.remove();
  const close = button(ACTION.close, dismiss, { icon: "close", label: true, kind: "quiet" });
  const message = h("div", { class: "message" }, h("span", null, text), back, close);
  messages().append(message);
  if (back) return;
  setTimeout(() => {
    if (!message.matches(":hover, :focus-within")) dismiss();
  }, 6000);
}

document.addEventListener("keydown", (event) => {
  const typing = /** @type {Element} */ (event.target).matches?.(
    "input, textarea, select, [contenteditable]",
  );
  const asked = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key === "z";
  const undo = /** @type {HTMLElement | null} */ (document.querySelector(UNDO));
  if (!asked || typing || !undo || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  undo.click();
});

/**
 * Say that an answer is on its way if it takes longer than a second, until it is there.
 * @template T
 * @param {string} text
 * @param {Promise<T>} answer
 * @returns {Promise<T>} The same answer, or what it throws.
 */
export async function meanwhile(text, answer) {
  const message = h(
    "div",
    { class: "message" },
    h("span", null, text),
    h("progress", { "aria-label": text }),
  );
  const timer = setTimeout(() => messages().append(message), 1000);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
    message.remove();
  }
}

/** Return the place of messages, which screen readers follow. */
function messages() {
  return (
    document.querySelector("#messages") ??
    document.body.appendChild(h("div", { id: "messages", role: "status", "aria-live": "polite" }))
  );
}
