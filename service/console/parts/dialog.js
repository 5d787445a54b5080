// @ts-check
/** Dialogs, questions, short messages, and what a refusal of the API means to the reader. */
import { Problem } from "../core/api.js";
import { button, h, icon } from "../core/dom.js";
import { S } from "../strings.js";

let made = 0;

/**
 * Show a dialog over the page; the focus returns when it closes. Closes by Escape and its button, unless `fixed`.
 * @param {string} title
 * @param {...import("../core/dom.js").Child} nodes
 * @returns {{element: HTMLDialogElement, body: HTMLElement, close: (value?: any) => void, closed: Promise<any>}}
 */
export function dialog(title, ...nodes) {
  const id = `dialog-${++made}`;
  const body = h("div", { class: "dialog-body" }, nodes);
  const element = h("dialog", { "aria-labelledby": id },
    h("div", { class: "dialog-head" }, h("h2", { id }, title), button(S.action.close, () => close(undefined), { icon: "close", label: true, kind: "quiet" })),
    body);
  const before = document.activeElement;
  /** @type {(value: any) => void} */ let settle;
  const closed = new Promise((resolve) => { settle = resolve; });
  /** @param {any} [value] */
  const close = (value) => {
    if (!element.isConnected) return;
    element.close();
    element.remove();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
    settle(value);
  };
  element.addEventListener("cancel", (event) => { event.preventDefault(); close(undefined); });
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
 * @param {{title: string, text?: import("../core/dom.js").Child, confirm: string, danger?: boolean, extra?: any[], act?: (values: any, how: {key: string}) => Promise<any>}} question
 * @returns {Promise<false | Record<string, any>>}
 */
export async function ask({ title, text, confirm, danger = false, extra = [], act }) {
  const { form } = await import("./form.js");
  const fields = extra.filter((one) => !(one instanceof Node));
  const content = form({
    fields,
    submit: confirm,
    danger,
    before: [typeof text === "string" ? h("p", null, text) : text, extra.filter((one) => one instanceof Node)],
    save: async (values, how) => {
      await act?.(values, how);
      box.close(values);
    },
    cancel: () => box.close(false),
    quiet: true,
  });
  const box = dialog(title, content);
  if (fields.length === 0) /** @type {HTMLElement | null} */ (content.querySelector(danger ? "[data-cancel]" : "[type=submit]"))?.focus();
  return (await box.closed) ?? false;
}

/**
 * Say something in passing, in the corner and to screen readers. With `undo`, a button takes it back.
 * @param {string} text
 * @param {{undo?: () => Promise<any>}} [options]
 */
export function tell(text, { undo } = {}) {
  const place = document.querySelector("#messages") ?? document.body.appendChild(
    h("div", { id: "messages", role: "status", "aria-live": "polite" }));
  const dismiss = () => message.remove();
  const message = h("div", { class: "message" }, h("span", null, text),
    undo && button(S.action.undo, async () => {
      try {
        await undo();
        dismiss();
      } catch (problem) {
        message.replaceChildren(trouble(problem));
      }
    }),
    button(S.action.close, dismiss, { icon: "close", label: true, kind: "quiet" }));
  place.append(message);
  setTimeout(() => { if (!message.matches(":hover, :focus-within")) dismiss(); }, undo ? 12_000 : 6000);
}

/**
 * Return what a refusal means, with the id of the request; `retry` gives a button where trying again can help.
 * @param {unknown} problem
 * @param {(() => any) | null} [retry]
 */
export function trouble(problem, retry) {
  if (!(problem instanceof Problem)) {
    if (!(problem instanceof DOMException && problem.name === "AbortError")) console.warn(problem);
    return box("bad", S.trouble.inConsole, [h("p", null, String(problem))]);
  }
  const { status, code, document, detail } = problem;
  const told = /** @type {Record<string | number, any>} */ (S.trouble);
  const key = [code, status].find((one) => Array.isArray(told[one])) ?? "other";
  const [title, text] = told[key];
  const repeat = code === "outdated" ? () => location.reload() : retry;
  const codes = (document.required ?? []).join(", ");
  const again = status === 0 || status === 429 || status >= 500;
  return box(status >= 500 || status === 0 ? "warn" : "bad", title, [
    text && h("p", null, text),
    detail && detail !== problem.title && h("p", null, detail),
    document.until && h("p", null, S.trouble.bannedUntil(new Date(document.until).toLocaleString())),
    codes && h("p", null, document.needed === "all" ? S.trouble.needsAll(codes) : S.trouble.needsAny(codes)),
    problem.violations.length > 0 && h("ul", null, problem.violations.map((one) =>
      h("li", null, [one.row && `${one.row}: `, one.field && h("strong", null, one.field), " ", one.message]))),
    conflicts(document),
    problem.retryAfter !== undefined && again && h("p", null, S.trouble.wait(problem.retryAfter)),
    repeat && again && h("p", null, button(S.action.retry, repeat, { icon: "refresh" })),
    problem.requestId && h("p", { class: "request" }, `${S.trouble.request} `, h("code", null, problem.requestId), ` · ${status} ${code}`),
  ]);
}

/** Return what stands against a change: what uses a record, what it would close, which statements it would break. @param {Record<string, any>} document */
function conflicts(document) {
  const counts = /** @type {Record<string, number>} */ ({ users: document.userCount, children: document.childCount, roles: document.roleCount, resources: document.resourceCount });
  const lists = Object.entries(S.trouble.conflicts).filter(([name]) => document[name]?.length).map(([name, title]) =>
    h("p", null, h("strong", null, title), ": ", document[name].join(", "), counts[name] > document[name].length && S.trouble.andMore(counts[name] - document[name].length)));
  const broken = (document.brokenInvariants ?? []).map((/** @type {{name: string, reason: string, finding: string}} */ one) =>
    h("p", null, h("strong", null, one.name), ": ", one.finding, " (", one.reason, ")"));
  const lost = (document.cannotReturn ?? []).map((/** @type {{name: string, reason: string}} */ one) => h("li", null, h("strong", null, one.name), ": ", one.reason));
  return [lists, broken, lost.length > 0 && h("ul", null, lost)];
}

/** @param {string} kind @param {string} title @param {import("../core/dom.js").Child[]} children */
function box(kind, title, children) {
  return h("div", { class: `trouble ${kind}`, role: "alert" }, icon("warn"), h("div", null, h("strong", null, title), children));
}
