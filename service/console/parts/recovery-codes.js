// @ts-check
/** Recovery codes, which are shown once: to copy, to print, or to save as a file. */
import { button, h } from "../core/dom.js";
import { ACTION } from "../strings/common.js";
import { CODES as T } from "../strings/factors.js";
import { dialog } from "./dialog.js";
import { save } from "./transfer.js";

/**
 * Show the codes until the reader closes them.
 * @param {string} user Whose they are: the name stands in the file.
 * @param {readonly string[]} codes
 */
export function recoveryCodes(user, codes) {
  const text = codes.join("\n");
  const copy = button(ACTION.copy, async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = ACTION.copied;
    } catch {
      getSelection()?.selectAllChildren(list); // without a secure context, the reader copies
      copy.textContent = ACTION.pressKeys;
    }
  });
  const list = h(
    "ol",
    { class: "recovery" },
    codes.map((code) => h("li", null, h("code", null, code))),
  );
  const box = dialog(
    T.title,
    h("p", null, T.about),
    list,
    h(
      "div",
      { class: "buttons" },
      copy,
      button(T.print, () => print()),
      button(
        T.save,
        () => save(new Blob([T.file({ user, codes: text })], { type: "text/plain" }), T.fileName),
        {
          icon: "download",
        },
      ),
      button(T.kept, () => box.close(), { kind: "primary" }),
    ),
  );
  box.element.classList.add("printed");
  copy.focus();
  return box.closed;
}
