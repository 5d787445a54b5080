// @ts-check
/** Forms: fields with labels, help and faults; what the service refuses is shown at the field it names. */
import { Problem, newKey } from "../client/portcullis.js";
import { button, h, unsaved } from "../core/dom.js";
import { instantOf, wallTime } from "../core/locale.js";
import { ACTION, TROUBLE, enumerated } from "../strings/common.js";
import { FORM } from "../strings/form.js";
import { late, requested, trouble } from "./trouble.js";

/**
 * One field. `type` is text (default), password, email, tel, url, number, date, datetime (a time in the reader's zone,
 * as RFC 3339), textarea, select, choice (one of the options, all in sight), checks (several of the options), check
 * (yes or no), file, or custom with `control`.
 * @typedef {object} Field
 * @property {string} name The member of the body, as 422 names it.
 * @property {string} label
 * @property {string} [type]
 * @property {boolean} [required]
 * @property {boolean} [readonly]
 * @property {(string | [any, string])[]} [options] Values, or values with their text; a select that is not required
 *   gets an empty one.
 * @property {string} [unset] The text of that empty one.
 * @property {string} [help]
 * @property {any} [value]
 * @property {number} [most] The most characters.
 * @property {boolean} [code] A text for programs: nothing corrects its spelling, or writes capitals.
 * @property {(values: Record<string, any>) => boolean} [only] Whether the form needs it, by its values. A field that is
 *   not needed is hidden, and has no value.
 * @property {Record<string, any>} [attributes] Further attributes of the control, such as `autocomplete`.
 * @property {{element: HTMLElement, get: () => any, set?: (value: any) => void}} [control]
 * @property {(input: HTMLInputElement) => HTMLElement} [wrap] Returns the control with what belongs to it, such as
 *   suggestions.
 * @property {(value: any) => string | null | undefined} [check] Returns what is wrong with a value.
 */
/**
 * @typedef {object} Config
 * @property {Field[]} fields
 * @property {string} [submit] The text of the button; by default Save.
 * @property {(values: Record<string, any>, how: {key: string, form: Form}) => any} save
 *   Values by name: text, numbers, lists; null for what is empty. `key` is an `Idempotency-Key` for these values.
 * @property {(values: Record<string, any>) => string} [subject] The record with its name, such as "Role Clerk".
 * @property {() => void} [cancel]
 * @property {string} [back] The text of the button that cancels.
 * @property {boolean} [danger]
 * @property {boolean} [quiet] Leaving it unsaved needs no question.
 * @property {boolean} [trailing] The button that saves comes last, as in dialogs.
 * @property {any} [before] Nodes above the fields.
 * @property {any} [after] Nodes below the fields, above the buttons.
 */
/**
 * A form as an element, with what its owner may do. `values` reads, `fill` writes, `refuse` shows a problem, `clean`
 * says that everything is saved.
 * @typedef {HTMLFormElement & {
 *   values: () => Record<string, any>,
 *   fill: (values: Record<string, any>) => void,
 *   refuse: (problem: unknown) => void,
 *   clean: () => void,
 *   notes: HTMLElement,
 * }} Form
 */

let made = 0;

/** @param {Config} config @returns {Form} */
export function form({
  fields,
  submit = ACTION.save,
  save,
  subject,
  cancel,
  back: called = ACTION.cancel,
  danger = false,
  quiet = false,
  trailing = false,
  before,
  after,
}) {
  const shown = fields.map(row);
  const notes = h("div", { class: "notes" });
  const ok = button(submit, null, { type: "submit", kind: danger ? "danger" : "primary" });
  const back = cancel && button(called, cancel, { "data-cancel": true });
  let key = newKey();
  let busy = false;
  const fit = () => {
    const values = element.values();
    for (const { field, element: box } of shown) if (field.only) box.hidden = !field.only(values);
  };
  const touched = () => {
    key = newKey();
    if (!quiet) unsaved.add(element);
    fit();
  };
  const element = /** @type {Form} */ (
    /** @type {unknown} */ (
      h(
        "form",
        {
          class: "form",
          novalidate: true,
          oninput: touched,
          onchange: touched,
          onsubmit: async (/** @type {Event} */ event) => {
            event.preventDefault();
            if (busy) return;
            notes.replaceChildren();
            const faults = shown.flatMap(({ field, element: box, get, half, fault }) => {
              if (box.hidden) return [];
              const value = get();
              const bare = value === null || value === "" || (Array.isArray(value) && value.length === 0);
              const message =
                (half() && FORM.half) ||
                (field.required && bare && FORM.missing) ||
                (!bare && field.check?.(value)) ||
                "";
              fault(message);
              return message ? [{ field: field.name, message }] : [];
            });
            if (faults.length > 0) return focusFirst();
            busy = true;
            ok.setAttribute("aria-busy", "true");
            try {
              await save(element.values(), { key, form: element });
              element.clean();
            } catch (problem) {
              element.refuse(problem);
            } finally {
              busy = false;
              ok.removeAttribute("aria-busy");
            }
          },
        },
        before,
        shown.map((entry) => entry.element),
        after,
        notes,
        h("div", { class: "buttons" }, trailing ? [back, ok] : [ok, back]),
      )
    )
  );

  const focusFirst = () =>
    /** @type {HTMLElement | null} */ (element.querySelector("[aria-invalid=true]"))?.focus();
  element.notes = notes;
  element.values = () =>
    Object.fromEntries(shown.map(({ field, element: box, get }) => [field.name, box.hidden ? null : get()]));
  element.fill = (values) => {
    for (const { field, set } of shown) if (field.name in values) set(values[field.name]);
    fit();
  };
  element.clean = () => {
    unsaved.delete(element);
  };
  element.refuse = (problem) => {
    if (problem instanceof DOMException && problem.name === "AbortError") return;
    const notSaved = subject && FORM.notSaved({ subject: subject(element.values()) });
    if (!element.isConnected) return late.show(notSaved ?? TROUBLE.notDone(submit), problem);
    const faults = faultsOf(problem, element.values());
    const labels = faults.map((fault) => mark(fault, shown));
    if (faults.length > 0 && labels.every((label) => label !== null)) {
      const text =
        notSaved && faults.length === 1
          ? `${labels[0]}: ${faults[0].message}`
          : FORM.faults({ n: faults.length });
      notes.replaceChildren(
        h(
          "div",
          { role: "alert" },
          h("p", { class: "fault" }, notSaved ? `${notSaved}: ${text}` : text),
          requested(problem),
        ),
      );
      return focusFirst();
    }
    notes.replaceChildren(trouble(problem, () => element.requestSubmit(), notSaved));
    if (element.querySelector("[aria-invalid=true]")) focusFirst();
  };
  fit();
  return element;
}

/**
 * Return what a refusal says of single values: which break a rule, and which is taken already.
 * @param {unknown} problem
 * @param {Record<string, any>} values
 * @returns {{field: string, message: string}[]}
 */
function faultsOf(problem, values) {
  if (!(problem instanceof Problem)) return [];
  const { field, rule } = problem.document;
  if (![403, 409].includes(problem.status) || !field) return problem.violations;
  return [{ field, message: rule === "unique" ? FORM.taken({ value: values[field] }) : problem.detail }];
}

/**
 * Say what is wrong with a value at its field. Returns the label of the field, null if there is none.
 * @param {{field: string, message: string}} fault
 * @param {ReturnType<typeof row>[]} rows
 */
function mark({ field, message }, rows) {
  const at =
    rows.find((entry) => entry.field.name === field) ??
    rows.find(({ field: { name } }) => field?.startsWith(`${name}[`) || field?.startsWith(`${name}.`));
  at?.fault(message);
  return at ? at.field.label : null;
}

/** @param {Field} field */
function row(field) {
  const id = `field-${++made}`;
  const { element: control, get, set } = field.control ?? controlOf(field, id);
  const group = field.type === "checks" || field.type === "choice";
  const help = field.help && h("p", { class: "help", id: `${id}-help` }, field.help);
  const faultText = h("p", { class: "fault", id: `${id}-fault` });
  const described = [help && `${id}-help`, `${id}-fault`].filter(Boolean).join(" ");
  if (!control.id) control.id = id;
  control.setAttribute("aria-describedby", described);
  if (field.required && !group && control.getAttribute("role") !== "group")
    control.setAttribute("aria-required", "true");
  const needed = field.required ? "needed" : "";
  /** @param {string} message */
  const fault = (message) => {
    faultText.textContent = message;
    if (message) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
  };
  /** True if something is typed that is no value yet: the browser gives it out as none. */
  const half = () =>
    [control, ...control.querySelectorAll("input")].some(
      (input) =>
        input instanceof HTMLInputElement && input.validity.badInput && input.closest("[hidden]") === null,
    );
  control.addEventListener("input", () => fault(""));
  let element;
  if (field.type === "check") {
    element = h(
      "div",
      { class: "field check" },
      h("label", { for: control.id }, control, " ", field.label),
      help,
      faultText,
    );
  } else if (group || field.control) {
    control.setAttribute("aria-labelledby", `${id}-label`);
    if (group) control.setAttribute("role", field.type === "choice" ? "radiogroup" : "group");
    element = h(
      "div",
      { class: "field" },
      h("span", { class: `label ${needed}`, id: `${id}-label` }, field.label),
      help,
      control,
      faultText,
    );
  } else {
    element = h(
      "div",
      { class: "field" },
      h("label", { for: control.id, class: needed }, field.label),
      help,
      field.wrap ? field.wrap(/** @type {HTMLInputElement} */ (control)) : control,
      faultText,
    );
  }
  return { field, element, get, set: set ?? (() => {}), half, fault };
}

/** @param {Field} field @param {string} id */
function controlOf(field, id) {
  const { name, type = "text", value, required, readonly, most, code } = field;
  const spelling = code && { spellcheck: "false", autocapitalize: "none" };
  const attributes = { maxlength: most, ...spelling, ...field.attributes };
  const options = (field.options ?? []).map(
    (option) => /** @type {[any, string]} */ (Array.isArray(option) ? option : [option, String(option)]),
  );
  if (type === "checks" || type === "choice") {
    const several = type === "checks";
    const boxes = options.map(([key, text]) => ({
      key,
      box: h("input", {
        type: several ? "checkbox" : "radio",
        name,
        checked: several ? (value?.includes(key) ?? false) : key === value,
      }),
      text,
    }));
    return {
      element: h(
        "div",
        { class: "checks", tabindex: "-1" },
        boxes.map(({ box, text }) => h("label", null, box, " ", text)),
      ),
      get: () => {
        const keys = boxes.filter(({ box }) => box.checked).map(({ key }) => key);
        return several ? keys : (keys[0] ?? null);
      },
      set: (/** @type {any} */ chosen) => {
        for (const { key, box } of boxes)
          box.checked = several ? (chosen?.includes(key) ?? false) : key === chosen;
      },
    };
  }
  if (type === "check") {
    const box = h("input", {
      type: "checkbox",
      name,
      id,
      checked: Boolean(value),
      disabled: readonly,
      ...attributes,
    });
    return {
      element: box,
      get: () => box.checked,
      set: (/** @type {any} */ on) => {
        box.checked = Boolean(on);
      },
    };
  }
  if (type === "select") {
    const all = required
      ? options
      : /** @type {[any, string][]} */ ([[null, field.unset ?? FORM.notSet], ...options]);
    const index = (/** @type {any} */ chosen) =>
      String(
        Math.max(
          0,
          all.findIndex(([key]) => key === (chosen ?? null)),
        ),
      );
    const select = h(
      "select",
      { name, id, disabled: readonly, ...attributes, value: index(value) },
      all.map(([, text], place) => h("option", { value: String(place) }, text)),
    );
    return {
      element: select,
      get: () => all[Number(select.value)]?.[0] ?? null,
      set: (/** @type {any} */ chosen) => {
        select.value = index(chosen);
      },
    };
  }
  if (type === "textarea") {
    const area = h("textarea", { name, id, rows: "4", readonly, ...attributes, value: value ?? "" });
    return {
      element: area,
      get: () => area.value || null,
      set: (/** @type {any} */ text) => {
        area.value = text ?? "";
      },
    };
  }
  const kind = type === "datetime" ? "datetime-local" : type;
  const input = h("input", { type: kind, name, id, readonly, autocomplete: "off", ...attributes });
  /** @type {any} */ let instant; // an hour of autumn is there twice: its text alone does not say which one
  const set = (/** @type {any} */ given) => {
    instant = given;
    if (type !== "file") input.value = type === "datetime" ? local(given) : String(given ?? "");
  };
  set(value);
  return {
    element: input,
    get: () => {
      if (type === "file") return input.files?.[0] ?? null;
      if (input.value === "") return null;
      if (type === "number") return Number(input.value);
      if (type !== "datetime") return input.value;
      return input.value === local(instant) ? instant : instantOf(input.value).toISOString();
    },
    set,
  };
}

/** @param {string | null | undefined} iso */
function local(iso) {
  if (!iso) return "";
  return wallTime(new Date(iso));
}

/**
 * Return a form that edits a record others may edit too. It writes with the record's ETag; when the record has changed
 * meanwhile (412), it merges: values that only one side changed are taken over, and for the others the reader chooses.
 * @param {object} config
 * @param {() => Promise<{data: any, etag: string | null}>} config.read
 * @param {(values: Record<string, any>, how: {etag: string | null, key: string}) => Promise<any>} config.write
 * @param {(data: any) => Omit<Config, "save">} config.form The fields with the values of the record.
 * @param {(data: any) => Record<string, any>} config.pick The values of a record by the names of the fields.
 * @param {(result: any) => any} [config.saved]
 * @param {(data: any) => Promise<string | null> | string | null} [config.editor] Who edited last, if that is known.
 * @param {(name: string, value: any) => string | undefined} [config.text] A value as text; undefined for the usual one.
 * @returns {Promise<Form>}
 */
export async function merging({ read, write, form: config, pick, saved, editor, text }) {
  let { data, etag } = await read();
  let base = pick(data);
  const made = config(data);
  const textOf = (/** @type {string} */ name, /** @type {any} */ value) =>
    text?.(name, value) ?? optionText(made.fields, name, value);
  const element = form({
    ...made,
    save: async (values, how) => {
      try {
        const result = await write(values, { etag, key: how.key });
        how.form.clean();
        await saved?.(result);
      } catch (problem) {
        if (!(problem instanceof Problem) || problem.status !== 412) throw problem;
        const fresh = await read();
        const theirs = pick(fresh.data);
        show(values, theirs, (await editor?.(fresh.data)) ?? fresh.data.updatedBy ?? null, problem);
        [data, etag, base] = [fresh.data, fresh.etag, theirs];
        throw new DOMException("", "AbortError"); // shown already
      }
    },
  });

  /**
   * @param {Record<string, any>} mine
   * @param {Record<string, any>} theirs
   * @param {string | null} who
   * @param {Problem} problem
   */
  function show(mine, theirs, who, problem) {
    const names = Object.keys(mine).filter((name) => name in theirs);
    const same = (/** @type {any} */ a, /** @type {any} */ b) =>
      JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
    const changed = names.filter((name) => !same(theirs[name], base[name]));
    const both = changed.filter((name) => !same(mine[name], base[name]) && !same(mine[name], theirs[name]));
    element.fill(
      Object.fromEntries(
        changed.filter((name) => same(mine[name], base[name])).map((name) => [name, theirs[name]]),
      ),
    );
    const label = (/** @type {string} */ name) =>
      made.fields.find((field) => field.name === name)?.label ?? name;
    element.notes.replaceChildren(
      h(
        "section",
        { class: "merge", tabindex: "-1", role: "alert" },
        h("h2", null, who ? FORM.meanwhileBy({ name: who }) : FORM.meanwhile),
        h("p", null, FORM.meanwhileText),
        h(
          "dl",
          { class: "definition" },
          changed.map((name) =>
            h(
              "div",
              null,
              h("dt", null, label(name)),
              both.includes(name)
                ? h(
                    "dd",
                    null,
                    h(
                      "fieldset",
                      null,
                      h("legend", { class: "hidden" }, label(name)),
                      ["mine", "theirs"].map((side) => {
                        const value = side === "mine" ? mine[name] : theirs[name];
                        return h(
                          "label",
                          null,
                          h("input", {
                            type: "radio",
                            name: `merge-${name}`,
                            checked: side === "mine",
                            onchange: () => element.fill({ [name]: value }),
                          }),
                          ` ${side === "mine" ? FORM.mine : FORM.theirs}: `,
                          h("q", null, textOf(name, value)),
                        );
                      }),
                    ),
                  )
                : h("dd", null, `${FORM.theirs}: `, h("q", null, textOf(name, theirs[name]))),
            ),
          ),
        ),
        requested(problem),
      ),
    );
    /** @type {HTMLElement} */ (element.notes.firstElementChild).focus();
  }
  return element;
}

/** @param {Field[]} fields @param {string} name @param {any} value */
function optionText(fields, name, value) {
  if (value === null || value === undefined || value === "") return FORM.empty;
  const options = fields.find((field) => field.name === name)?.options ?? [];
  const text = (/** @type {any} */ key) => {
    const option = options.find((candidate) => (Array.isArray(candidate) ? candidate[0] : candidate) === key);
    return Array.isArray(option) ? option[1] : String(key);
  };
  return Array.isArray(value) ? enumerated(value.map(text)) : text(value);
}
