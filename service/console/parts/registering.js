// @ts-check
/**
 * Registers several resources: each is checked by a dry run, shown with its outcome, and saved when the reader agrees.
 */
import { badge, button, h, link } from "../core/dom.js";
import { Problem, newKey } from "../client/portcullis.js";
import { RESOURCES as T } from "../strings/resources.js";
import { requestLine } from "./request-line.js";
import { table } from "./rows.js";
import { trouble } from "./trouble.js";

/** @typedef {{resourceName: string, resourceCode: string, method: string, path: string, service: string}} Candidate */
/**
 * @typedef {object} Row
 * @property {Candidate} candidate
 * @property {string} state
 * @property {import("../core/dom.js").Child} note
 * @property {string} key
 * @property {HTMLInputElement} box
 * @property {Record<string, HTMLInputElement>} inputs
 * @property {HTMLElement} outcome
 */

/**
 * Return a table of candidates, whose names and codes can be edited, and the buttons that check and register them.
 * @param {Page} page
 * @param {Candidate[]} candidates
 * @param {{disabled?: boolean}} [options] `disabled`: register them disabled, unless the reader says otherwise.
 */
export function registering(page, candidates, { disabled = false } = {}) {
  const off = h("input", {
    type: "checkbox",
    checked: disabled,
    onchange: () => {
      for (const row of rows) reset(row);
    },
  });
  const status = h("p", { role: "status" });
  const actions = h("div", { class: "actions" });
  const rows = candidates.map(rowOf);
  let busy = false;

  /** @param {Candidate} candidate @returns {Row} */
  function rowOf(candidate) {
    const request = `${candidate.method} ${candidate.path}`;
    const changed = () => reset(row);
    const input = (/** @type {"resourceName" | "resourceCode"} */ name, /** @type {string} */ label) =>
      h("input", { value: candidate[name], "aria-label": `${label}, ${request}`, oninput: changed });
    /** @type {Row} */ const row = {
      candidate,
      state: "open",
      note: null,
      key: newKey(),
      box: h("input", {
        type: "checkbox",
        checked: true,
        "aria-label": T.registerOne({ request }),
        onchange: () => showActions(),
      }),
      inputs: { resourceName: input("resourceName", T.name), resourceCode: input("resourceCode", T.code) },
      outcome: h("div"),
    };
    return row;
  }

  /** @param {Row} row */
  function reset(row) {
    if (row.state === "saved") return;
    row.key = newKey();
    mark(row, "open");
    showActions();
  }

  /** @param {Row} row @param {string} state @param {import("../core/dom.js").Child} [note] */
  function mark(row, state, note = null) {
    Object.assign(row, { state, note });
    const kind =
      /** @type {Record<string, string>} */ ({ fits: "info", saved: "good", refused: "bad" })[state] ?? "";
    row.outcome.replaceChildren(badge(T.outcomes[state], kind), ...(note ? [h("div", null, note)] : []));
    if (state === "saved")
      for (const control of [row.box, ...Object.values(row.inputs)]) control.disabled = true;
  }

  const checkedIn = (/** @type {string[]} */ ...states) =>
    rows.filter(({ box, state }) => box.checked && states.includes(state));

  function showActions() {
    if (busy) return;
    const unchecked = checkedIn("open", "refused");
    const ready = checkedIn("fits");
    const focus = actions.contains(document.activeElement);
    actions.replaceChildren(
      ...[
        unchecked.length > 0 &&
          button(T.check({ n: unchecked.length }), () => each(unchecked, "checking", check), {
            kind: ready.length ? "" : "primary",
          }),
        ready.length > 0 &&
          button(T.save({ n: ready.length }), () => each(ready, "saving", save), { kind: "primary" }),
      ].filter((child) => child instanceof Node),
    );
    if (focus)
      /** @type {HTMLElement | null} */ (
        actions.querySelector(".primary") ?? actions.querySelector("button")
      )?.focus();
  }

  /** @param {Row[]} chosen @param {string} state @param {(row: Row) => Promise<void>} work */
  async function each(chosen, state, work) {
    busy = true;
    try {
      for (const [place, row] of chosen.entries()) {
        if (page.signal.aborted) return;
        status.textContent = T.progress({ n: place + 1, all: chosen.length });
        mark(row, state);
        try {
          await work(row);
        } catch (problem) {
          if (page.signal.aborted) return;
          mark(
            row,
            "refused",
            problem instanceof Problem && problem.status >= 400 && problem.status < 500
              ? refusal(problem)
              : trouble(problem),
          );
        }
      }
    } finally {
      busy = false;
    }
    const refused = chosen.filter((row) => row.state === "refused").length;
    const saved = chosen.filter((row) => row.state === "saved").length;
    status.textContent =
      state === "saving"
        ? refused
          ? T.someLeft({ n: refused })
          : T.allDone({ n: saved })
        : refused
          ? T.refusedSome({ n: refused })
          : "";
    showActions();
  }

  /** @param {Row} row */
  function body({ candidate, inputs }) {
    return /** @type {any} */ ({
      ...candidate,
      enabled: !off.checked,
      resourceName: inputs.resourceName.value.trim(),
      resourceCode: inputs.resourceCode.value.trim(),
    });
  }

  /** @param {Row} row */
  async function check(row) {
    const { preview } = await page.call("POST", "/api/resource", { body: body(row), dryRun: true });
    mark(row, "fits", [
      preview.warnings.map((warning) => h("p", null, warning)),
      T.gainsLoses(preview.gains.length, preview.loses.length),
    ]);
  }

  /** @param {Row} row */
  async function save(row) {
    const { data } = await page.call("POST", "/api/resource", { body: body(row), key: row.key });
    mark(row, "saved", link(`/resources/${data.id}`, data.resourceName));
  }

  for (const row of rows) mark(row, "open");
  showActions();
  return h(
    "div",
    { class: "listing" },
    h("p", null, h("label", null, off, " ", T.asDisabled)),
    table(
      T.candidates,
      [T.request, T.name, T.code, T.outcome],
      rows.map(({ candidate, box, inputs, outcome }) => [
        h("label", null, box, " ", requestLine(candidate.method, candidate.path)),
        inputs.resourceName,
        inputs.resourceCode,
        outcome,
      ]),
    ),
    status,
    actions,
  );
}

/** @param {Problem} problem */
function refusal({ title, detail, violations }) {
  return violations.length
    ? violations.map(({ field, message }) => h("p", null, h("strong", null, field), " ", message))
    : h("p", null, detail || title);
}
