// @ts-check
/** Rights that nobody has needed: assignments, permissions of roles, API keys, and the smaller roles that suffice. */
import { actions, button, card, definition, h, linkButton, pieces } from "../../core/dom.js";
import { offerRows } from "../../parts/list-file.js";
import { codes, question } from "../../parts/policy.js";
import { attempt, saving } from "../../parts/preview.js";
import { roleNames } from "../../parts/roles.js";
import { table } from "../../parts/rows.js";
import { time } from "../../parts/time.js";
import { trouble } from "../../parts/trouble.js";
import { TRANSFER } from "../../strings/transfer.js";
import { UNUSED as T } from "./strings.js";
import { enumerated } from "../../strings/common.js";

const UNUSED = "/api/policy/unused";
const GIVEN = "/api/role/{id}/permissions";
const DAYS = 90;

/** @typedef {import("../../types/api").UnusedRights} Unused */
/** @typedef {import("../../types/api").SmallerRole} SmallerRole */
/** @typedef {import("../../types/api").SmallerKey} SmallerKey */
/** @typedef {"assignments" | "codes" | "keys" | "scopes" | "roles"} Part */

/** @param {Page} page */
export async function show(page) {
  const days = Number(page.query.get("days")) || DAYS;
  page.title(T.title);
  const attributes = { min: 1, max: 3650 };
  const asked = question(
    page,
    [{ name: "days", label: T.days, type: "number", required: true, value: days, attributes }],
    undefined,
    T.show,
  );
  const [{ data }, roles] = await Promise.all([
    page.call("GET", UNUSED, { query: { days } }),
    roleNames(page),
  ]);
  page.put(
    h("p", null, T.text),
    card("", asked),
    card(
      "",
      definition([
        [T.since, data.observed && data.since],
        [T.recorded, data.recordedSince ? time(data.recordedSince) : T.notRecorded],
        [T.checked, T.checks[data.checkedBy]],
      ]),
      !data.observed && h("p", { class: "note warn" }, T.young),
      data.observed && data.days < days && h("p", { class: "note warn" }, T.shorter({ n: data.days })),
    ),
    data.observed && parts(page, days, data, roles),
  );
}

/**
 * Return the lists.
 * @param {Page} page @param {number} days @param {Unused} data
 * @param {import("../../parts/roles.js").Roles} roles
 */
function parts(page, days, data, roles) {
  const reviewing = (/** @type {Record<string, any>} */ scope) =>
    `/reviews/new?${new URLSearchParams(scope)}`;
  const begins = page.may("POST /api/review");
  const user = (/** @type {number} */ id, /** @type {string} */ name, /** @type {string} */ tab) =>
    page.linked("user", `${id}${tab}`, name);
  const role = (/** @type {number} */ id, /** @type {string} */ code) =>
    page.linked("role", id, roles.shown(code));
  return [
    part(page, days, data, {
      name: "roles",
      title: T.roles,
      nothing: T.noSmaller,
      titles: [T.role, T.gives, T.enough, ""],
      row: (/** @type {SmallerRole} */ smaller) => [
        role(smaller.roleId, smaller.roleCode),
        codes(smaller.codes),
        h(
          "div",
          null,
          smaller.proposed.length ? codes(smaller.proposed) : T.nothing,
          smaller.recent.length > 0 &&
            h("p", { class: "help" }, `${enumerated(smaller.recent)}: ${T.recent}`),
        ),
        h(
          "span",
          { class: "badges" },
          page.may(`PUT ${GIVEN}`) &&
            button(T.tryIt, () => tried(page, smaller, roles.name(smaller.roleCode)), {
              "aria-label": T.tryOf({ role: roles.name(smaller.roleCode) }),
            }),
          begins &&
            named(
              linkButton(reviewing({ roleIds: smaller.roleId, unusedDays: days }), T.reviewOne),
              T.reviewRole({ role: roles.name(smaller.roleCode) }),
            ),
        ),
      ],
    }),
    part(page, days, data, {
      name: "assignments",
      title: T.assignments,
      act: begins && linkButton(reviewing({ unusedDays: days }), T.review),
      titles: [T.user, T.role, T.given, T.until, T.reason],
      row: (each) => [
        user(each.userId, each.userName, "/roles"),
        role(each.roleId, each.roleCode),
        time(each.createTime),
        time(each.validUntil),
        each.reason,
      ],
    }),
    part(page, days, data, {
      name: "codes",
      title: T.codes,
      titles: [T.role, T.code, T.begins, ""],
      row: (each) => [
        role(each.roleId, each.roleCode),
        h("code", null, each.code),
        time(each.beginTime),
        page.may("GET /api/policy/what-if") &&
          named(
            linkButton(
              `/policy/what-if?${new URLSearchParams({ roleCode: each.roleCode, without: each.code })}`,
              T.whatIf,
            ),
            T.whatIfOf({ role: roles.name(each.roleCode), code: each.code }),
          ),
      ],
    }),
    part(page, days, data, {
      name: "keys",
      title: T.keys,
      titles: [T.key, T.user, T.created, T.used],
      row: (each) => [
        each.keyName,
        user(each.userId, each.userName, "/keys"),
        time(each.createTime),
        time(each.lastUseTime) ?? T.never,
      ],
    }),
    part(page, days, data, {
      name: "scopes",
      title: T.scopes,
      nothing: T.noSmallerKey,
      titles: [T.key, T.user, T.created, T.gives, T.enough],
      row: (/** @type {SmallerKey} */ smaller) => [
        smaller.keyName,
        user(smaller.userId, smaller.userName, "/keys"),
        time(smaller.createTime),
        h(
          "div",
          null,
          codes(smaller.scopes),
          smaller.unused.length > 0 &&
            h("p", { class: "help" }, T.neverUsed({ codes: enumerated(smaller.unused) })),
        ),
        smaller.proposed.length ? codes(smaller.proposed) : T.nothing,
      ],
    }),
  ];
}

/**
 * Return one list; a button reads further rows of it.
 * @param {Page} page @param {number} days @param {Unused} data
 * @param {{
 *   name: Part, title: string, nothing?: string, titles: string[], act?: HTMLElement | false,
 *   row: (each: any) => import("../../core/dom.js").Child[],
 * }} list
 */
function part(page, days, data, { name, title, nothing = T.none, titles, act, row }) {
  const { total } = data[name];
  /** @type {any[]} */ let items = data[name].items;
  let number = 1;
  const place = h("div", { class: "body" });
  const put = () => {
    const acts = [
      items.length < total && button(T.more, next),
      items.length > 0 &&
        button(TRANSFER.export, file, { icon: "download", "aria-label": T.exportOf({ title }) }),
      items.length > 0 && act,
    ].filter(Boolean);
    place.replaceChildren(
      ...pieces([
        items.length ? table(title, titles, items.map(row)) : h("p", null, nothing),
        acts.length > 0 && actions(acts),
      ]),
    );
  };
  const read = async () => {
    const answer = await page.call("GET", UNUSED, { query: { days, page: number + 1 } });
    number += 1;
    items = [...items, ...answer.data[name].items];
  };
  const next = async () => {
    try {
      await read();
      put();
    } catch (problem) {
      place.append(trouble(problem));
    }
  };
  const shown = titles.flatMap((text, place) => (text ? [place] : []));
  const file = () =>
    offerRows(
      `unused-${name}`,
      shown.map((place) => titles[place]),
      async () => {
        while (items.length < total) await read();
        put();
        return items.map(row).map((cells) => shown.map((place) => cells[place]));
      },
    );
  put();
  return card(T.count({ title, n: total }), place);
}

/** Name a link for those who hear it alone. @param {HTMLElement} element @param {string} name */
function named(element, name) {
  element.setAttribute("aria-label", name);
  return element;
}

/**
 * Show what would change if a role gave only what suffices, and save it if the reader agrees.
 * @param {Page} page @param {SmallerRole} smaller @param {string} name
 */
function tried(page, { roleId, codes: now, proposed }, name) {
  const title = T.tryTitle({ role: name });
  return attempt(title, async () => {
    const path = { id: roleId };
    const { etag } = await page.call("GET", GIVEN, { path });
    const [takes, adds] = [
      now.filter((code) => !proposed.includes(code)),
      proposed.filter((code) => !now.includes(code)),
    ];
    await saving(page, {
      title,
      confirm: T.save,
      text: h(
        "div",
        { class: "body" },
        definition([
          [T.takes, takes.length > 0 && codes(takes)],
          [T.adds, adds.length > 0 && codes(adds)],
        ]),
      ),
      write: (dryRun) =>
        page.call("PUT", GIVEN, { path, body: { permissions: proposed }, ifMatch: etag, dryRun }),
      done: T.saved({ role: name }),
    });
  });
}
