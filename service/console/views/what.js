// @ts-check
/** What a role, a user or a holder of codes may do. */
import { badge, card, definition, empty, h } from "../core/dom.js";
import { Problem } from "../core/api.js";
import { form } from "../parts/form.js";
import {
  SPELLED,
  after,
  answering,
  asking,
  codes,
  codesIn,
  objectOf,
  passedBy,
  requestOf,
  showing,
  why,
} from "../parts/policy.js";
import { listing } from "../parts/table.js";
import { FORM } from "../strings/form.js";
import { POLICY as T } from "../strings/policy.js";
import { USERS } from "../strings/users.js";

const ROWS = 50;
const SUBJECTS = ["userName", "roleCode", "codes"];

/** @typedef {import("../core/page.js").Page} Page */

/** @param {Page} page */
export async function show(page) {
  page.title(T.tab.what);
  const shown = question(page);
  const answer = h("div", { class: "body" });
  page.put(h("p", null, T.whatText), card("", shown), answer);
  const name = SUBJECTS.find((subject) => page.query.has(subject));
  if (name) answering(page, shown, answer, () => answerTo(page, name));
}

/** @param {Page} page */
function question(page) {
  const value = (/** @type {string} */ name) => page.query.get(name);
  const made = form({
    fields: [
      {
        name: "subject",
        label: T.subject,
        type: "select",
        required: true,
        value: SUBJECTS.find((subject) => page.query.has(subject)) ?? "userName",
        options: [
          ["userName", T.userName],
          ["roleCode", T.roleCode],
          ["codes", T.permissions],
        ],
      },
      { name: "userName", label: T.userName, value: value("userName"), attributes: SPELLED },
      { name: "roleCode", label: T.roleCode, value: value("roleCode"), attributes: SPELLED },
      {
        name: "codes",
        label: T.permissions,
        value: value("codes"),
        help: T.permissionsHelp,
        attributes: SPELLED,
      },
    ],
    submit: T.ask,
    quiet: true,
    save: ({ subject, ...values }) => {
      if (subject !== "codes" && !values[subject])
        throw new Problem(422, { errors: [{ field: subject, message: FORM.missing }] });
      return asking(page, { [subject]: values[subject] ?? " " });
    },
  });
  const fit = () => {
    const { subject } = made.values();
    showing(made, Object.fromEntries(SUBJECTS.map((name) => [name, name === subject])));
  };
  made.classList.add("question");
  made.addEventListener("change", fit);
  fit();
  return made;
}

/** @param {Page} page @param {string} name */
async function answerTo(page, name) {
  const value = page.query.get(name) ?? "";
  // Empty members are left out of an address: a comma stands for no code at all.
  const subject = { [name]: name === "codes" ? codesIn(value).join(",") || "," : value };
  const read = async (/** @type {Record<string, any>} */ { page: number, size = ROWS, kind }) =>
    (await page.call("GET", "/api/policy/what", { query: { ...subject, page: number, size, kind } })).data;
  const data = await read(Object.fromEntries(page.query));
  const asker = name === "codes" ? { permissions: codesIn(value).join(",") || " " } : subject;
  return [
    card(
      T.answer,
      data.keptOut && h("p", { class: "note bad" }, T.keptOut),
      definition([
        [
          USERS.status,
          data.userStatus &&
            badge(
              USERS.statuses[data.userStatus] ?? data.userStatus,
              data.userStatus === "enabled" ? "good" : "bad",
            ),
        ],
        [T.holds, data.permissions.length ? codes(data.permissions) : T.holdsNothing],
      ]),
    ),
    listing(page, {
      caption: T.whatCaption,
      size: ROWS,
      filters: [{ name: "kind", label: T.kind, type: "select", options: Object.entries(T.kinds) }],
      columns: [
        {
          title: T.what,
          cell: (item) =>
            item.kind === "request" ? objectOf(page, item.object) : h("code", null, item.object),
        },
        { title: T.kind, cell: (item) => T.kinds[item.kind] },
        { title: T.resourceLine, cell: (item) => passedBy(item.resource) },
        { title: T.endpointLine, cell: (item) => passedBy(item.endpoint ?? item.grant) },
      ],
      buttons: (item) => {
        const asked = item.kind === "grant" ? { grant: item.object } : requestOf(item.object);
        return asked && why(page, { ...asker, ...asked }, item.object);
      },
      empty: empty(T.whatNothing),
      load: after(data, read),
    }),
  ];
}
