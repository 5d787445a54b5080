// @ts-check
/** What is shown only once, such as a new key: a dialog with the text to copy. */
import { button, h } from "../core/dom.js";
import { ACTION } from "../strings/common.js";
import { dialog } from "./dialog.js";

/** @param {string} title @param {string} about @param {string} text */
export function once(title, about, text) {
  return dialog(title, h("p", null, about), toCopy(title, text)).closed;
}

/** Return a text in a field that selects it, with what copies it. @param {string} title @param {string} text */
export function toCopy(title, text) {
  const field = h("input", {
    type: "text",
    readonly: true,
    value: text,
    "aria-label": title,
    class: "code",
    onfocus: () => field.select(),
  });
  const copy = button(
    ACTION.copy,
    async () => {
      try {
        await navigator.clipboard.writeText(text);
        copy.textContent = ACTION.copied;
      } catch {
        field.select(); // without a secure context, the reader copies
        copy.textContent = ACTION.pressKeys;
      }
    },
    { kind: "primary" },
  );
  return [field, h("div", { class: "buttons" }, copy)];
}
