// @ts-check
/** What is done with many records at once: each act is previewed for all of them together. */
import { Problem } from "../client/portcullis.js";
import { actions, bullets, button, h } from "../core/dom.js";
import { SELECTION as T, TABLE } from "../strings/table.js";
import { tell } from "./dialog.js";
import { agreed, attempt, previewed } from "./preview.js";

/** The most records that one request changes: a longer selection is changed in batches. */
const BATCH = 200;

/**
 * @typedef {object} Act
 * @property {string} title
 * @property {string} confirm
 * @property {boolean} [danger]
 * @property {(counted: {n: number}) => string} [sessions] What becomes of sessions.
 * @property {(ids: number[], dryRun: boolean) => Promise<any>} write Answers how many were changed, and how many not.
 * @property {(counts: {changed: number, unchanged: number}) => string} counts What the preview says of them.
 * @property {(counted: {n: number}) => string} done
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
      actions(this.counted, this.rest),
      actions(acts(this)),
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
    this.counted.textContent = TABLE.selected({ n: this.ids.length });
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
    if (ids.length === 0) return; // the buttons are hidden then
    const batches = new Batches(ids, (batch, dryRun) =>
      change.write(batch, dryRun).catch((problem) => Promise.reject(this.named(problem, batch))),
    );
    let answer;
    try {
      answer = await (change.box ? agreed : previewed)({
        ...change,
        write: (dryRun) => (dryRun ? batches.preview() : batches.save()),
        more: (data) => [h("p", null, change.counts(data)), batches.report],
      });
    } finally {
      // First the list anew, which forgets what is chosen: who reads that it is done may choose again at once.
      if (batches.saved > 0) await this.page.reload();
      if (batches.saved > 0 && batches.saved < ids.length)
        tell(T.partly({ saved: batches.saved, all: ids.length }));
    }
    if (answer && batches.saved === ids.length) tell(change.done({ n: answer.data.changed }));
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

/** Changes many records, batch by batch; the first refusal ends it, and what is left can be tried again. */
class Batches {
  /**
   * @param {number[]} ids
   * @param {(ids: number[], dryRun: boolean) => Promise<any>} write
   */
  constructor(ids, write) {
    this.count = ids.length;
    this.batches = Array.from({ length: Math.ceil(ids.length / BATCH) }, (_, place) =>
      ids.slice(place * BATCH, (place + 1) * BATCH),
    );
    this.write = write;
    /** @type {any[]} */ this.answers = [];
    /** What became of each batch; empty for a single one. */
    this.report = h("div", { role: "status" });
    if (this.batches.length > 1) this.report.append(h("p", { class: "note" }, T.inBatches({ most: BATCH })));
  }

  /** How many records are in the batches that were saved. */
  get saved() {
    return Math.min(this.count, this.answers.length * BATCH);
  }

  /** Return what all batches together would do. */
  async preview() {
    const answers = [];
    for (const batch of this.batches) answers.push(await this.write(batch, true));
    return joined(answers);
  }

  /** Save what is not saved yet, until a batch is refused or the reader closes the dialog. */
  async save() {
    for (const batch of this.batches.slice(this.answers.length)) {
      if (this.answers.length > 0 && !this.report.isConnected) break;
      try {
        this.answers.push(await this.write(batch, false));
      } catch (problem) {
        this.show(true);
        throw problem;
      }
      this.show(false);
    }
    return joined(this.answers);
  }

  /** Show what became of each batch. @param {boolean} refused Whether the first that is not saved was refused. */
  show(refused) {
    if (this.batches.length === 1) return;
    const { answers } = this;
    this.report.replaceChildren(
      h("p", null, T.progress({ saved: this.saved, all: this.count })),
      bullets(this.batches, (batch) => {
        const place = this.batches.indexOf(batch);
        const range = T.range({ from: place * BATCH + 1, to: place * BATCH + batch.length });
        if (place < answers.length) return `${range}: ${T.batch(answers[place].data)}`;
        return `${range}: ${refused && place === answers.length ? T.refused : T.waits}`;
      }),
    );
  }
}

/** Return the answer of one request that would do the same as several. @param {any[]} answers */
function joined(answers) {
  const sum = (/** @type {(answer: any) => number} */ part) =>
    answers.reduce((total, answer) => total + part(answer), 0);
  const data = {
    changed: sum((answer) => answer.data.changed),
    unchanged: sum((answer) => answer.data.unchanged),
  };
  if (answers.length === 1 || !answers[0].preview) return { ...answers[0], data };
  const previews = answers.map(({ preview }) => preview);
  const preview = {
    gains: sides(previews.flatMap(({ gains }) => gains)),
    loses: sides(previews.flatMap(({ loses }) => loses)),
    keptOut: {
      users: sum((answer) => answer.preview.keptOut.users),
      userNames: previews.flatMap(({ keptOut }) => keptOut.userNames).slice(0, BATCH),
    },
    sessions: sum((answer) => answer.preview.sessions),
    warnings: [...new Set(previews.flatMap(({ warnings }) => warnings))],
    demands: unique(previews.flatMap(({ demands }) => demands)),
  };
  return { ...answers[0], data, preview };
}

/** Return what roles gain or lose; the users of the same change are added up. @param {any[]} changes */
function sides(changes) {
  const same = Map.groupBy(changes, (change) => JSON.stringify({ ...change, users: 0 }));
  return [...same.values()].map((alike) => ({
    ...alike[0],
    users: alike.reduce((total, { users }) => total + users, 0),
  }));
}

/** @template T @param {T[]} values @returns {T[]} */
function unique(values) {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

/**
 * Return what a listing takes to let the reader enable and disable many records; none where they may not.
 * @param {Page} page
 * @param {"/api/role/bulk/enabled" | "/api/resource/bulk/enabled"} template
 * @param {(counted: {n: number}) => string} records Such as `3 roles`.
 * @param {(record: any) => string} nameOf
 */
export function switching(page, template, records, nameOf) {
  if (!page.may(`POST ${template}`)) return { element: null, listed: {} };
  const selection = new Selection(page, T.records, (made) =>
    [true, false].map((enabled) =>
      button(enabled ? T.enable : T.disable, () => {
        const { ids } = made;
        return made.act({
          title: (enabled ? T.enableTitle : T.disableTitle)({ records: records({ n: ids.length }) }),
          confirm: enabled ? T.enable : T.disable,
          danger: !enabled,
          write: (batch, dryRun) => page.call("POST", template, { body: { ids: batch, enabled }, dryRun }),
          counts: ({ changed: n, unchanged }) => T.counts({ changed: records({ n }), unchanged }),
          done: (counted) => (enabled ? T.enabled : T.disabled)({ records: records(counted) }),
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
