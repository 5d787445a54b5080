// @ts-check
/** Codes and ids that are needed elsewhere, with a button that copies them. */
import { button, h } from "../core/dom.js";
import { ACTION } from "../strings/common.js";
import { tell } from "./dialog.js";

/** Return a code, and what copies it; null for none. @param {string | null | undefined} text */
export function copyable(text) {
  if (!text) return null;
  const code = h("code", null, text);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      tell(ACTION.copiedOne(text));
    } catch {
      getSelection()?.selectAllChildren(code); // without a secure context, the reader copies
    }
  };
  return h(
    "span",
    { class: "copyable" },
    code,
    button(ACTION.copyOne(text), copy, { icon: "copy", label: true, kind: "quiet" }),
  );
}
