// @ts-check
/** Sets what a directory hands out: the roles of its groups, below a ceiling. */
import { Problem } from "../../client/portcullis.js";
import { h } from "../../core/dom.js";
import { tell } from "../../parts/dialog.js";
import { form, merging } from "../../parts/form.js";
import { picker } from "../../parts/picker.js";
import { SPELLED } from "../../parts/policy.js";
import { agreed } from "../../parts/preview.js";
import { rowEditor } from "../../parts/row-editor.js";
import { menuTitle } from "../../parts/seed.js";
import { rolesOrCodes, userNames } from "../../parts/suggestions.js";
import { ACTION, enumerated, LIST } from "../../strings/common.js";
import { DIRECTORIES as T } from "./strings.js";

const ONE = "/api/directory/{source}";
/** The tag of a directory that is not there yet. */
const NONE = '"0"';

/** @typedef {import("../../types/api").DirectoryBody} Body */
/** @typedef {import("../../types/api").MappedGroup} Mapped */

/** @param {Page} page */
export async function show(page) {
  page.crumbs(["/directories", T.title]);
  const buttons = page.may("GET /api/menu/list") ? await allCodes(page) : null;
  if (page.params.source) await edit(page, page.params.source, buttons);
  else create(page, buttons);
}

/** @param {Page} page @param {[string, string][] | null} buttons */
function create(page, buttons) {
  const named = page.query.get("name");
  /** @type {Body} */
  const fresh = { kind: named ? "oidc" : "scim", client: null, mapping: [], ceiling: [], enabled: true };
  page.title(T.add);
  page.put(
    form({
      subject: ({ source }) => T.subject({ name: source }),
      fields: [
        {
          name: "source",
          label: T.name,
          required: true,
          value: named,
          help: T.nameHelp,
          most: 32,
          code: true,
        },
        {
          name: "kind",
          label: T.kind,
          type: "select",
          required: true,
          options: Object.entries(T.kinds),
          value: fresh.kind,
        },
        ...fields(page, fresh, buttons),
      ],
      save: async ({ source, ...body }, { form: shown }) => {
        await saved(page, source, /** @type {Body} */ (body), NONE);
        shown.clean();
        tell(T.saved({ name: source }));
        page.go(`/directories/${source}`);
      },
      cancel: () => page.go("/directories"),
    }),
  );
}

/** @param {Page} page @param {string} source @param {[string, string][] | null} buttons */
async function edit(page, source, buttons) {
  const back = `/directories/${source}`;
  /** @type {Body["kind"]} */ let kind = "oidc";
  const made = await merging({
    read: async () => {
      const answer = await page.call("GET", ONE, { path: { source } });
      kind = answer.data.kind;
      return answer;
    },
    pick: (directory) => {
      const { client, mapping, ceiling, enabled } = directory;
      return { ...(kind === "scim" && { client }), mapping, ceiling, enabled };
    },
    form: (directory) => ({
      subject: () => T.subject({ name: source }),
      fields: fields(page, directory, buttons).filter(({ name }) => name !== "client" || kind === "scim"),
      cancel: () => page.go(back),
    }),
    text: (name, value) =>
      name === "mapping"
        ? value.map((/** @type {Mapped} */ each) => lineOf(each)).join(LIST.semicolon)
        : undefined,
    write: (values, { etag }) =>
      saved(page, source, /** @type {Body} */ ({ kind, client: null, ...values }), etag),
    saved: () => {
      tell(T.saved({ name: source }));
      page.go(back);
    },
  });
  page.crumbs(["/directories", T.title], [back, source]);
  page.title(T.editTitle({ name: source }));
  page.put(made);
}

/**
 * Save a directory once the reader has seen what that does. A fault in the mapping names its group and role.
 * @param {Page} page @param {string} source @param {Body} body @param {string | null} etag
 */
async function saved(page, source, body, etag) {
  try {
    return await agreed({
      title: T.saveTitle({ name: source }),
      text: T.saveText,
      confirm: ACTION.save,
      write: (dryRun) => page.call("PUT", ONE, { path: { source }, body, ifMatch: etag, dryRun }),
    });
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.status !== 422) throw problem;
    const errors = problem.violations.map((violation) => {
      const [, place, number] = /^mapping\[(\d+)\]\.roles\[(\d+)\]$/.exec(violation.field) ?? [];
      const mapped = body.mapping[Number(place)];
      if (!mapped) return violation;
      return {
        ...violation,
        message: `${T.at({ group: mapped.group, role: mapped.roles[Number(number)] })}: ${violation.message}`,
      };
    });
    throw new Problem(problem.status, { ...problem.document, errors });
  }
}

/**
 * @param {Page} page @param {Body} directory @param {[string, string][] | null} buttons
 * @returns {import("../../parts/form.js").Field[]}
 */
function fields(page, { client, mapping, ceiling, enabled }, buttons) {
  return [
    { name: "client", label: T.client, value: client, help: T.clientHelp, code: true, wrap: userNames(page) },
    {
      name: "mapping",
      label: T.mapping,
      type: "custom",
      help: T.mappingHelp,
      control: groups(page, mapping),
    },
    {
      name: "ceiling",
      label: T.ceiling,
      type: "custom",
      help: buttons ? T.ceilingHelp : `${T.ceilingHelp} ${T.ceilingLines}`,
      control: buttons ? choice(buttons, ceiling) : lines(ceiling),
    },
    { name: "enabled", label: T.enabledState, type: "check", value: enabled, help: T.enabledHelp },
  ];
}

/** Return a choice among the permissions. @param {[string, string][]} buttons @param {readonly string[]} ceiling */
function choice(buttons, ceiling) {
  const known = new Map([...ceiling.map((code) => /** @type {const} */ ([code, ""])), ...buttons]);
  const options = [...known].sort(([a], [b]) => (a < b ? -1 : 1));
  return picker(
    options.map(([key, note]) => ({ key, text: key, note })),
    [...ceiling],
  );
}

/** Return a control for codes, one on each line. @param {readonly string[]} ceiling */
function lines(ceiling) {
  const area = h("textarea", { rows: "8", ...SPELLED });
  const set = (/** @type {readonly string[]} */ codes) => {
    area.value = codes.join("\n");
  };
  set(ceiling);
  return { element: area, get: () => area.value.split(/\s+/).filter(Boolean), set };
}

/** Return a control for groups with their roles. @param {Page} page @param {readonly Mapped[]} given */
function groups(page, given) {
  const suggest = rolesOrCodes(page, () => true);
  const text = (/** @type {object} */ attributes) =>
    h("input", { type: "text", autocomplete: "off", ...attributes });
  return rowEditor({
    given,
    fresh: /** @type {Mapped} */ ({ group: "", roles: [] }),
    kind: "mapped",
    add: T.addGroup,
    remove: (place) => T.removeGroup({ place }),
    labels: [(place) => T.groupAt({ place }), (place) => T.rolesAt({ place })],
    make: ({ group, roles }) => [
      text({ name: "group", value: group, maxlength: "254" }),
      suggest(text({ name: "roles", value: roles.join(", "), ...SPELLED })),
    ],
    read: ([group, roles]) => ({
      group: group.value.trim(),
      roles: roles.value.split(/[\s,]+/).filter(Boolean),
    }),
  });
}

/** @param {Mapped} mapped */
function lineOf({ group, roles }) {
  return `${group}: ${enumerated(roles)}`;
}

/**
 * Return all permission codes with the titles of their Buttons.
 * @param {Page} page @returns {Promise<[string, string][]>}
 */
async function allCodes(page) {
  /** @type {[string, string][]} */ const codes = [];
  for (let number = 1, total = 1, read = 0; read < total; number += 1) {
    const query = { menuType: "Button", page: number, size: 200, sort: "authMark" };
    const { data } = await page.call("GET", "/api/menu/list", { query });
    total = data.items.length ? data.total : 0;
    read += data.items.length;
    for (const button of data.items) if (button.authMark) codes.push([button.authMark, menuTitle(button)]);
  }
  return codes;
}
