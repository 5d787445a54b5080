// @ts-check
/**
 * A field with suggestions, by the combobox pattern of the ARIA Authoring Practices Guide: the focus stays in the
 * field, and the arrows move among what is suggested.
 */
import { h, pieces } from "../core/dom.js";
import { COMBOBOX as T } from "../strings/find.js";

const PAUSE = 150; // ms after the last key until suggestions are asked for
let made = 0;

/**
 * @typedef {object} Suggestion
 * @property {string} text What the field gets.
 * @property {import("../core/dom.js").Child} [note] What is said beside it.
 * @property {string} [group] Suggestions of a group follow one another.
 * @property {any} [value] What `take` needs to know.
 */

/**
 * Return a field with the list of its suggestions.
 * @param {HTMLInputElement} input
 * @param {(text: string, signal: AbortSignal) => Promise<Suggestion[]>} suggest Is asked once the reader pauses; what
 *   it throws means that there are none.
 * @param {object} [options]
 * @param {boolean} [options.several] The field takes several words, by commas or spaces: the last is completed.
 * @param {boolean} [options.standing] The list is a part of the page, and its first suggestion is the one Enter takes.
 * @param {(suggestion: Suggestion) => void} [options.take] What is done with a choice, in place of typing it.
 */
export function combobox(input, suggest, { several = false, standing = false, take } = {}) {
  const id = `suggestions-${++made}`;
  const list = h("div", { id, role: "listbox", "aria-label": T.list, hidden: true });
  const status = h("span", { class: standing ? "help" : "hidden", role: "status" });
  /** @type {{suggestion: Suggestion, element: HTMLElement}[]} */ let options = [];
  let active = -1;
  let timer = 0;
  let asking = new AbortController();

  const word = () => (several ? (/[^\s,]*$/.exec(input.value)?.[0] ?? "") : input.value.trim());

  /** @param {number} place */
  const move = (place) => {
    active = place;
    options.forEach(({ element }, at) => element.setAttribute("aria-selected", String(at === active)));
    const chosen = options[active]?.element;
    if (!chosen) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", chosen.id);
    chosen.scrollIntoView({ block: "nearest" });
  };

  /** @param {Suggestion[]} suggestions */
  const show = (suggestions) => {
    options = suggestions.map((suggestion, place) => ({
      suggestion,
      element: h(
        "div",
        { role: "option", id: `${id}-${place}`, onclick: () => choose(suggestion) },
        h("span", null, suggestion.text),
        suggestion.note && h("small", null, suggestion.note),
      ),
    }));
    list.replaceChildren(...pieces([grouped(options)]));
    list.hidden = options.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    move(standing && options.length ? 0 : -1);
  };

  const close = () => {
    clearTimeout(timer);
    asking.abort();
    if (options.length) show([]);
    status.textContent = "";
  };

  const ask = async () => {
    clearTimeout(timer);
    asking.abort();
    const { signal } = (asking = new AbortController());
    const text = word();
    const suggestions = await suggest(text, signal).catch(() => []);
    if (signal.aborted || !input.isConnected) return;
    const isTyped = !standing && !take && suggestions.length === 1 && suggestions[0].text === text;
    show(isTyped ? [] : suggestions); // what is typed already would only cover what stands below
    status.textContent = text || suggestions.length ? T.count({ n: suggestions.length }) : "";
  };

  /** @param {Suggestion} suggestion */
  const choose = (suggestion) => {
    close();
    if (take) return take(suggestion);
    input.value = several
      ? input.value.slice(0, input.value.length - word().length) + suggestion.text
      : suggestion.text;
    for (const event of ["input", "change"]) input.dispatchEvent(new Event(event, { bubbles: true }));
    close(); // what was chosen needs no suggestions
  };

  /** What keys do; the others are the field's own. @type {Record<string, (event: KeyboardEvent) => boolean>} */
  const keys = {
    ArrowDown: () => {
      if (options.length) move((active + 1) % options.length);
      else ask();
      return true;
    },
    ArrowUp: () => {
      if (options.length) move(active <= 0 ? options.length - 1 : active - 1);
      return options.length > 0;
    },
    Enter: () => {
      const chosen = options[active];
      if (chosen) choose(chosen.suggestion);
      else close();
      return Boolean(chosen);
    },
    Escape: (event) => {
      if (standing || !options.length) return false;
      event.stopPropagation(); // it closes the list alone, not the dialog that the field is in
      close();
      return true;
    },
  };
  for (const [name, value] of Object.entries({
    role: "combobox",
    autocomplete: "off",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": id,
  }))
    input.setAttribute(name, value);
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE);
  });
  input.addEventListener("keydown", (event) => {
    if (!event.isComposing && !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key]?.(event))
      event.preventDefault();
  });
  if (!standing) input.addEventListener("blur", close);
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays in the field
  list.addEventListener("mousedown", (event) => event.preventDefault());
  if (standing) ask();
  return h("div", { class: `combo ${standing ? "standing" : ""}`.trim() }, input, list, status);
}

/**
 * Return options below the names of their groups.
 * @param {{suggestion: Suggestion, element: HTMLElement}[]} options
 */
function grouped(options) {
  /** @type {Map<string, HTMLElement[]>} */ const groups = new Map();
  for (const { suggestion, element } of options) {
    const name = suggestion.group ?? "";
    groups.set(name, [...(groups.get(name) ?? []), element]);
  }
  return [...groups].map(([name, elements]) =>
    name
      ? h(
          "div",
          { role: "group", "aria-label": name },
          h("div", { class: "soft", "aria-hidden": "true" }, name),
          elements,
        )
      : elements,
  );
}
