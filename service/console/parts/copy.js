// @ts-check
/** Codes and ids that are needed elsewhere, with a button that copies them. */
import { button, h } from "../core/dom.js";
import { ACTION } from "../strings/common.js";
import { tell } from "./dialog.js";

/**
 * Copy a text. Without a secure context the reader copies: from its element, or from the message.
 * @param {string} text @param {Node} [shown]
 */
export async function copyText(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    tell(ACTION.copiedOne({ text }));
  } catch {
    if (shown) getSelection()?.selectAllChildren(shown);
    tell(shown ? ACTION.selected : text);
  }
}

/** Return a code, and what copies it; null for none. @param {string | null | undefined} text */
export function copyable(text) {
  if (!text) return null;
  const code = h("code", null, text);
  const copy = () => copyText(text, code);
  return h(
    "span",
    { class: "copyable" },
    code,
    button(ACTION.copyOne({ text }), copy, { icon: "copy", label: true, kind: "quiet" }),
  );
}
