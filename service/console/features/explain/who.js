// @ts-check
/** Who may send a request, or holds a permission: roles and users. */
import { badge, badges, bullets, card, definition, empty, h, link } from "../../core/dom.js";
import { shownNumber } from "../../core/locale.js";
import {
  after,
  answering,
  codes,
  demanded,
  instantField,
  passedBy,
  question as asks,
  requestFields,
  why,
} from "../../parts/policy.js";
import { OWN, serviceOptions } from "../../parts/resources.js";
import { table } from "../../parts/rows.js";
import { listing } from "../../parts/table.js";
import { codes as suggestedCodes } from "../../parts/suggestions.js";
import { POLICY as T } from "../../strings/policy.js";

/** @param {Page} page */
export async function show(page) {
  const { query } = page;
  page.title(T.tab.who);
  const shown = question(page, await serviceOptions(page));
  const answer = h("div", { class: "body" });
  page.put(h("p", null, T.whoText), card("", shown), answer);
  if (query.get("permission"))
    answering(page, shown, answer, () => givers(page, query.get("permission") ?? ""));
  else if (query.get("path")) answering(page, shown, answer, () => passing(page));
}

/** @param {Page} page @param {[string, string][] | null} services */
function question(page, services) {
  const value = (/** @type {string} */ name) => page.query.get(name);
  const codesToo = page.may("POST /api/policy/explain");
  const made = asks(
    page,
    [
      {
        name: "about",
        label: T.about,
        type: "select",
        required: true,
        options: Object.entries(T.whoAbouts).slice(0, codesToo ? undefined : 1),
        value: value("permission") ? "permission" : "request",
      },
      ...requestFields(page, value, services, () => made.values()).map((field) => ({
        ...field,
        only: (/** @type {Record<string, any>} */ { about }) => about === "request",
      })),
      {
        name: "permission",
        label: T.permission,
        code: true,
        required: true,
        value: value("permission"),
        wrap: suggestedCodes(page),
        only: ({ about }) => about === "permission",
      },
      instantField(value("at")),
    ],
    ({ about, service, ...values }) => ({
      ...values,
      service: service === OWN ? null : service,
      by: about === "request" ? value("by") : null,
    }),
  );
  return made;
}

/** @param {Page} page */
async function passing(page) {
  const { query } = page;
  const asked = /** @type {any} */ ({
    method: query.get("method") ?? "GET",
    path: query.get("path"),
    service: query.get("service"),
    at: query.get("at"),
  });
  const byUser = query.get("by") === "users" && page.may("GET /api/policy/who/users");
  const read = async (/** @type {Record<string, any>} */ { page: number, size }) =>
    (await page.call("GET", "/api/policy/who", { query: { ...asked, page: number, size } })).data;
  const data = await read(byUser ? { size: 1 } : Object.fromEntries(query));
  if (!data.endpoint && !asked.service) return card(T.answer, h("p", { class: "note warn" }, T.noRoute));
  const filters = new URLSearchParams([...query].filter(([name]) => !["by", "page", "size"].includes(name)));
  const choice = (/** @type {string} */ by, /** @type {string} */ text, /** @type {boolean} */ on) => {
    const anchor = link(`/policy/who?${filters}&by=${by}`, text);
    if (on) anchor.setAttribute("aria-current", "true");
    return anchor;
  };
  return [
    card(
      T.answer,
      data.visitors
        ? h("p", { class: "note" }, T.everybody)
        : data.anyLogin && h("p", { class: "note" }, T.anyLogin),
      data.resource?.object === `${asked.service} @unregistered` &&
        h("p", { class: "note" }, T.unregisteredThere({ name: asked.service })),
      h("p", null, T.usersMay({ n: data.users })),
      definition([
        [
          T.resourceLine,
          data.resource && [h("code", null, data.resource.object), " ", codes(data.resource.required)],
        ],
        [
          T.endpointLine,
          data.endpoint && [h("code", null, data.endpoint.object), " ", codes(data.endpoint.required)],
        ],
        [T.layers["assurance"], demanded(data.assurance)],
        [
          T.together,
          data.together.length
            ? bullets(data.together, (/** @type {import("../../types/api").PassingTogether} */ group) => [
                group.roles.join(" + "),
                `: ${group.users}`,
              ])
            : null,
        ],
        [
          T.others,
          data.others.length
            ? bullets(data.others, (/** @type {string} */ other) => h("code", null, other))
            : null,
        ],
      ]),
    ),
    h(
      "nav",
      { class: "tabs small", "aria-label": T.show },
      choice("roles", T.byRoles, !byUser),
      page.may("GET /api/policy/who/users") && choice("users", T.byUsers, byUser),
    ),
    byUser
      ? listing(page, {
          caption: T.whoUsers,
          columns: [
            { title: T.userName, cell: (user) => user.userName },
            {
              title: T.roles,
              cell: (user) => badges(user.roles.map((/** @type {string} */ role) => badge(role))),
            },
          ],
          row: (user) => (page.may("GET /api/user/{id}") ? `/users/${user.id}` : null),
          buttons: (user) => why(page, { userName: user.userName, ...asked }, user.userName),
          empty: empty(T.noUser),
          load: async ({ page: number, size }) =>
            (await page.call("GET", "/api/policy/who/users", { query: { ...asked, page: number, size } }))
              .data,
        })
      : listing(page, {
          caption: T.whoRoles,
          columns: [
            { title: T.roleCode, cell: (role) => role.roleCode },
            { title: T.users, cell: (role) => shownNumber(role.users), kind: "number" },
            { title: T.resourceLine, cell: (role) => passedBy(role.resource) },
            { title: T.endpointLine, cell: (role) => passedBy(role.endpoint) },
          ],
          row: (role) =>
            page.may("GET /api/role/list") ? `/roles?roleCode=${encodeURIComponent(role.roleCode)}` : null,
          buttons: (role) => why(page, { roleCode: role.roleCode, ...asked }, role.roleCode),
          empty: empty(T.noRole),
          load: after(data, read),
        }),
  ];
}

/**
 * Return the roles that give a permission: a visitor's refusal tells them.
 * @param {Page} page
 * @param {string} permission
 */
async function givers(page, permission) {
  const instant = page.query.get("at");
  const at = instant ? { at: instant } : {};
  const { data } = await page.call("POST", "/api/policy/explain", { body: { permission, ...at } });
  const wouldOpen = data.permission?.wouldOpen;
  if (!data.permission?.lines.length) return empty(T.unknownCode);
  return card(
    T.givers,
    wouldOpen?.roles.length
      ? table(
          T.givers,
          [T.roleCode, ""],
          wouldOpen.roles.map((/** @type {string} */ role) => [
            page.may("GET /api/role/list") ? link(`/roles?roleCode=${encodeURIComponent(role)}`, role) : role,
            [
              page.may("GET /api/user/list") &&
                link(`/users?roleCode=${encodeURIComponent(role)}`, T.theirUsers),
              " ",
              why(page, { roleCode: role, permission, ...at }, role),
            ],
          ]),
        )
      : empty(T.noGiver),
  );
}
