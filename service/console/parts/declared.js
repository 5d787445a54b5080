// @ts-check
/**
 * Records by their declarations: each field is declared once, and gives the form that creates or edits the record, its
 * preview and merge, columns and filters of the list, and the template of the import.
 */
import { linkButton } from "../core/dom.js";
import { ACTION } from "../strings/common.js";
import { TRANSFER } from "../strings/transfer.js";
import { tell } from "./dialog.js";
import { form, merging } from "./form.js";
import { agreed, remove, setEnabled } from "./preview.js";
import { listing } from "./table.js";
import { exporting, limitsOf } from "./transfer.js";

/** @typedef {import("./form.js").Field} Field */
/** @typedef {import("./form.js").Form} Form */
/** @typedef {import("./table.js").Column} Column */
/** @typedef {import("./table.js").Filter} Filter */

/**
 * What a field may depend on: the view, what was read for all fields, the record, and the values of the form.
 * @typedef {{page: Page, known: any, record: Record<string, any>, values: () => Record<string, any>}} Shown
 */
/**
 * A field of a record: what a form says of it, and what lists and tables do.
 * @typedef {Omit<Field, "name" | "value"> & {
 *   rights?: boolean,
 *   once?: boolean,
 *   initial?: any,
 *   when?: (shown: Shown) => boolean,
 *   make?: (value: any, shown: Shown) => Partial<Field>,
 *   worded?: (value: any, known: any) => string | undefined,
 *   column?: Partial<Column>,
 *   filter?: Partial<Filter>,
 *   example?: string,
 * }} Declared `rights`: an edit changes who may do what, so that its effect is shown first. `once`: only a new record
 *   takes it. `initial`: what a new record begins with. `when`: whether the form has it. `make`: what depends on a
 *   record. `worded`: a value as text, for a merge. `example`: a value in the template of an import.
 */
/**
 * A kind of records. The paths of its API are `{api}/list`, `{api}` and `{api}/{id}`; permissions follow from these.
 * @typedef {object} Kind
 * @property {string} api Such as `/api/role`.
 * @property {string} view The address of the list, such as `/roles`.
 * @property {string} [record] The address above those of single records, if it is another one.
 * @property {(record: any) => Kind} [of] The kind that a record is of, if that is another one.
 * @property {string} name The field whose value names a record.
 * @property {any} texts What is said of records: titles, questions and messages.
 * @property {Record<string, Declared>} fields In the order of files.
 * @property {string[]} form Fields by name.
 * @property {(string | Column)[]} [columns] Fields by name, and other columns.
 * @property {(string | Filter | ((known: any) => Filter | null))[]} [filters] Fields by name, and other filters.
 * @property {string} [files] The name of files that the server exports.
 * @property {boolean} [imported] Whether such files are imported; by default they are.
 * @property {(record: any) => string} [shown] The name of a record as pages show it; by default its field `name`.
 * @property {(record: any) => string} [nameOf] The name of a record in titles and messages; by default the shown one.
 * @property {(record: any, known: any) => any} [formed] A record as its form has it.
 * @property {(body: Record<string, any>, stored: any) => object} [previewed] What the preview of an edit says beside
 *   its effect.
 */

/** @param {Kind} kind @param {any} record @returns {string} */
function shownName({ shown, name }, record) {
  return shown ? shown(record) : record[name];
}

/** @param {Kind} kind @param {any} record @returns {string} */
function nameOf(kind, record) {
  return kind.nameOf ? kind.nameOf(record) : shownName(kind, record);
}

/** Return a record with its name, for what is said of a form. @param {Kind} kind @param {any} record */
function subjectOf(kind, record) {
  return kind.nameOf ? kind.nameOf(record).trim() : kind.texts.subject({ name: shownName(kind, record) });
}

/** Return the names of the fields that a form has. @param {Kind} kind @param {Shown} shown @param {boolean} fresh */
function namesOf({ form: names, fields }, shown, fresh) {
  return names.filter((name) => (fresh || !fields[name].once) && (fields[name].when?.(shown) ?? true));
}

/** Return the fields of the form of a record. @param {Kind} kind @param {Shown} shown @param {boolean} fresh */
export function fieldsOf(kind, shown, fresh) {
  return namesOf(kind, shown, fresh).map((name) => {
    const { initial, make, ...field } = kind.fields[name];
    const value = shown.record[name] ?? (fresh ? initial : null);
    return /** @type {Field} */ ({ name, value, ...field, ...make?.(value, shown) });
  });
}

/**
 * Show the form of a new record.
 * @param {Page} page
 * @param {Kind} kind
 * @param {object} how
 * @param {string} how.title
 * @param {Record<string, any>} [how.record] What the form begins with.
 * @param {any} [how.known]
 * @param {import("../core/dom.js").Child} [how.before] Nodes above the form.
 * @param {string} [how.submit]
 * @param {string} [how.back] Where Cancel leads.
 * @param {(values: Record<string, any>) => Record<string, any>} [how.body] The body of the request.
 * @param {(write: (dryRun: boolean) => Promise<any>, body: Record<string, any>) => Promise<any>} [how.write] Writes,
 *   perhaps after a preview.
 * @param {(record: any, values: Record<string, any>) => any} [how.done] What follows once the record is there.
 * @param {(record: any) => string} [how.to] Returns the address that is shown then, by default that of the record.
 * @returns {Form}
 */
export function creating(page, kind, how) {
  const { api, view, texts: T } = kind;
  const { title, record = {}, known, before, submit = ACTION.create, back = view } = how;
  page.crumbs([view, T.title]);
  page.title(title, ...page.actions.children);
  const shown = { page, known, record, values: () => made.values() };
  const made = form({
    subject: (values) => subjectOf(kind, { ...record, ...values }),
    fields: fieldsOf(kind, shown, true),
    submit,
    save: async (values, { key, form: sent }) => {
      const body = how.body ? how.body(values) : values;
      const write = (/** @type {boolean} */ dryRun) => page.call("POST", api, { body, key, dryRun });
      const { data } = await (how.write ? how.write(write, body) : write(false));
      sent.clean();
      tell(T.made({ name: nameOf(kind, data) }));
      await how.done?.(data, values);
      page.go(how.to?.(data) ?? `${view}/${data.id}`);
    },
    cancel: () => page.go(back),
  });
  page.put(before, made);
  return made;
}

/**
 * Show the form of the record that the address names. It sends what has changed; where that is about rights, once the
 * reader has seen the effect.
 * @param {Page} page
 * @param {Kind} kind
 * @param {any} [known]
 */
export async function editing(page, kind, known) {
  const { api, view, fields, texts: T } = kind;
  const path = { id: page.params.id };
  const back = `${view}/${path.id}`;
  /** @type {Record<string, any>} */ let stored = {};
  const own = (record = stored) => kind.of?.(record) ?? kind;
  const shownOf = (/** @type {any} */ record) => ({
    page,
    known,
    record,
    values: () => ({ ...record, ...made.values() }),
  });
  const made = await merging({
    read: async () => {
      const { data, etag } = await page.call("GET", `${api}/{id}`, { path });
      stored = kind.formed?.(data, known) ?? data;
      return { data: stored, etag };
    },
    pick: (record) =>
      Object.fromEntries(namesOf(kind, shownOf(record), false).map((name) => [name, record[name]])),
    form: (record) => ({
      subject: () => subjectOf(own(record), record),
      fields: fieldsOf(kind, shownOf(record), false),
      cancel: () => page.go(back),
    }),
    text: (name, value) => fields[name]?.worded?.(value, known),
    write: async (values, { etag }) => {
      const body = Object.fromEntries(
        Object.entries(values).filter(
          ([name, value]) => JSON.stringify(value ?? null) !== JSON.stringify(stored[name] ?? null),
        ),
      );
      const write = (/** @type {boolean} */ dryRun) =>
        page.call("PATCH", `${api}/{id}`, { path, body, ifMatch: etag, dryRun });
      if (!Object.keys(body).some((name) => fields[name].rights)) return write(false);
      const shown = kind.previewed?.(body, stored) ?? { title: T.saveTitle({ name: nameOf(kind, stored) }) };
      return agreed({ title: "", confirm: ACTION.save, write, ...shown });
    },
    saved: ({ data }) => {
      tell(own(data).texts.saved({ name: nameOf(kind, data) }));
      page.go(back);
    },
  });
  page.crumbs([own().view, own().texts.title], [back, shownName(kind, stored)]);
  page.title(T.editTitle({ name: nameOf(kind, stored) }));
  page.put(made);
}

/** Return the columns of a list: those of fields say their values. @param {Kind} kind @returns {Column[]} */
function columnsOf({ fields, columns = [] }) {
  return columns.map((column) => {
    if (typeof column !== "string") return column;
    const { label, column: own } = fields[column];
    return { title: label, sort: column, cell: (/** @type {any} */ record) => record[column], ...own };
  });
}

/**
 * Return the filters of a list. Yes or no, and a choice of few, are selects.
 * @param {Kind} kind
 * @param {any} known
 * @returns {Filter[]}
 */
function filtersOf({ fields, filters = [] }, known) {
  return filters.flatMap((filter) => {
    if (typeof filter === "function") return filter(known) ?? [];
    if (typeof filter !== "string") return filter;
    const { label, type, options, filter: own } = fields[filter];
    const choice = type === "select" ? { type, options } : type === "check" ? { type: "whether" } : {};
    return { name: filter, label, ...choice, ...own };
  });
}

/**
 * Show the list of records, with the ways to a new one, to an import and to an export.
 * @param {Page} page
 * @param {Kind} kind
 * @param {object} [how]
 * @param {any} [how.known] What filters depend on.
 * @param {Record<string, any>} [how.fixed] Filters of the request that the reader does not choose.
 * @param {import("../core/dom.js").Child} [how.above]
 * @param {import("../core/dom.js").Child} [how.below]
 * @param {Partial<import("./table.js").Listing>} [how.list]
 */
export function records(page, kind, { known, fixed, above, below, list = {} } = {}) {
  const { api, view, texts: T, files, imported = true } = kind;
  const filters = filtersOf(kind, known);
  const chosen = () =>
    Object.fromEntries(
      [...page.query].filter(([name]) => !["page", "cursor", "size", "sort"].includes(name)),
    );
  page.title(
    T.title,
    page.may(`POST ${api}`) && linkButton(`${view}/new`, T.add, { icon: "plus", kind: "primary" }),
    (T.import ? page.may(`POST ${api}`) : files && imported && page.may(`POST ${api}/import`)) &&
      linkButton(`${view}/import`, T.import ?? TRANSFER.import, { icon: "upload" }),
    files &&
      page.may(`GET ${api}/export`) &&
      exporting(page, `${api}/export`, files, {
        text: TRANSFER.exportText,
        columns: Object.keys(examplesOf(kind)).filter((name) => name !== "password"),
        filters: () => ({ ...chosen(), ...fixed }),
        limits: () => limitsOf(page, filters),
        count: async () =>
          (await page.call("GET", `${api}/list`, { query: { ...chosen(), ...fixed, size: 1 } })).data,
      }),
  );
  page.put(
    above,
    listing(page, {
      caption: T.title,
      columns: columnsOf(kind),
      filters,
      file: files ? false : undefined,
      row: ({ id }) => (page.may(`GET ${api}/{id}`) ? `${kind.record ?? view}/${id}` : null),
      load: async (query) => (await page.call("GET", `${api}/list`, { query: { ...query, ...fixed } })).data,
      empty: T.none,
      ...list,
    }),
    below,
  );
}

/** Return the columns of a file of records, each with an example. @param {Pick<Kind, "fields">} kind */
export function examplesOf({ fields }) {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, { example }]) => (example === undefined ? [] : [[name, example]])),
  );
}

/**
 * Enable or disable a record, after the preview.
 * @param {Page} page @param {Kind} kind @param {any} record @param {string | null} etag
 * @param {[method: string, template: string]} [operation]
 */
export function toggle(page, kind, record, etag, [method, template] = ["PATCH", `${kind.api}/{id}`]) {
  const path = { id: record.id };
  return setEnabled(page, {
    on: !record.enabled,
    name: nameOf(kind, record),
    texts: kind.texts,
    etag,
    write: (enabled, options) => page.call(method, template, { path, body: { enabled }, ...options }),
  });
}

/**
 * Delete a record, after the preview.
 * @param {Page} page @param {Kind} kind @param {any} record @param {string | null} etag
 */
export function deleting(page, kind, record, etag) {
  const path = { id: record.id };
  return remove(page, {
    name: nameOf(kind, record),
    texts: kind.texts,
    write: (dryRun) => page.call("DELETE", `${kind.api}/{id}`, { path, ifMatch: etag, dryRun }),
    next: kind.view,
  });
}
