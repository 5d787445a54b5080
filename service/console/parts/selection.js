// @ts-check
/** What is done with many records at once: each act is previewed for all of them together. */
import { Problem } from "../client/portcullis.js";
import { button, h } from "../core/dom.js";
import { SELECTION as T, TABLE } from "../strings/table.js";
import { tell } from "./dialog.js";
import { agreed, attempt, previewed } from "./preview.js";

/**
 * @typedef {object} Act
 * @property {string} title
 * @property {string} confirm
 * @property {boolean} [danger]
 * @property {(dryRun: boolean) => Promise<any>} write Answers how many were changed, and how many not.
 * @property {(changed: number, unchanged: number) => string} counts What the preview says of them.
 * @property {(changed: number) => string} done
 * @property {import("./dialog.js").Box} [box] The dialog whose second step it is.
 */

/** What a listing takes to let the reader choose records. */
export class Selection {
  /**
   * @param {Page} page
   * @param {string} label What the bar is called.
   * @param {(selection: Selection) => import("../core/dom.js").Child} acts Buttons for what is chosen.
   */
  constructor(page, label, acts) {
    this.page = page;
    /** @type {number[]} */ this.ids = [];
    /** The names of records that have been listed: a refusal names places among the ids. @type {Map<number, string>} */
    this.names = new Map();
    this.counted = h("span", { role: "status" });
    this.rest = h("span");
    this.element = h(
      "div",
      { class: "bar chosen", role: "group", "aria-label": label, hidden: true },
      h("div", { class: "actions" }, this.counted, this.rest),
      h("div", { class: "actions" }, acts(this)),
    );
  }

  /**
   * Take the ids that are chosen, and what chooses all that match the filters.
   * @param {Set<number>} chosen
   * @param {import("./table.js").Rest | null} [rest]
   */
  choose(chosen, rest) {
    this.ids = [...chosen];
    this.element.hidden = this.ids.length === 0;
    this.counted.textContent = TABLE.selected(this.ids.length);
    const all = rest && button(TABLE.selectAll(rest.total, rest.most), rest.choose, { kind: "quiet" });
    this.rest.replaceChildren(...(all ? [all] : []));
  }

  /** Preview an act, and do it if the reader agrees. @param {Act} change */
  act(change) {
    return attempt(change.title, () => this.done(change));
  }

  /**
   * Do the same, perhaps as the second step of a dialog, and show the list anew. Throws a refusal, which names the
   * records it is about.
   * @param {Act} change
   */
  async done(change) {
    const { ids } = this;
    const answer = await (change.box ? agreed : previewed)({
      ...change,
      write: (dryRun) => change.write(dryRun).catch((problem) => Promise.reject(this.named(problem, ids))),
      more: ({ changed, unchanged }) => h("p", null, change.counts(changed, unchanged)),
    });
    if (!answer) return;
    // First the list anew, which forgets what is chosen: who reads that it is done may choose again at once.
    await this.page.reload();
    tell(change.done(answer.data.changed));
  }

  /**
   * Return a refusal with the names of records in place of their places.
   * @param {unknown} problem @param {number[]} ids
   */
  named(problem, ids) {
    if (!(problem instanceof Problem)) return problem;
    problem.violations = problem.violations.map(({ row, ...violation }) => ({
      ...violation,
      field: (row && this.names.get(ids[row - 1])) || violation.field,
    }));
    return problem;
  }
}

/**
 * Return what a listing takes to let the reader enable and disable many records; none where they may not.
 * @param {Page} page
 * @param {"/api/role/bulk/enabled" | "/api/resource/bulk/enabled"} template
 * @param {(n: number) => string} records Such as `3 roles`.
 * @param {(record: any) => string} nameOf
 */
export function switching(page, template, records, nameOf) {
  if (!page.may(`POST ${template}`)) return { element: null, listed: {} };
  const selection = new Selection(page, T.records, (made) =>
    [true, false].map((enabled) =>
      button(enabled ? T.enable : T.disable, () => {
        const { ids } = made;
        return made.act({
          title: (enabled ? T.enableTitle : T.disableTitle)(records(ids.length)),
          confirm: enabled ? T.enable : T.disable,
          danger: !enabled,
          write: (dryRun) => page.call("POST", template, { body: { ids, enabled }, dryRun }),
          counts: (changed, unchanged) => T.counts(records(changed), unchanged),
          done: (changed) => (enabled ? T.enabled : T.disabled)(records(changed)),
        });
      }),
    ),
  );
  return {
    element: selection.element,
    listed: {
      select: (/** @type {any} */ record) => {
        selection.names.set(record.id, nameOf(record));
        return record.id;
      },
      chosen: selection.choose.bind(selection),
    },
  };
}
