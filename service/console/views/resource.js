// @ts-check
/** One resource: what is stored, which Buttons open it, and what can be done about it. */
import { actions, badge, button, card, definition, empty, h, link, linkButton } from "../core/dom.js";
import { copyable } from "../parts/copy.js";
import { deleting, toggle } from "../parts/declared.js";
import { ask, tell } from "../parts/dialog.js";
import { history } from "../parts/history.js";
import { readButtons } from "../parts/menus.js";
import { missingButton } from "../parts/new-button.js";
import { picker } from "../parts/picker.js";
import { agreed, attempt, previewed, undoing } from "../parts/preview.js";
import { record } from "../parts/record.js";
import { related } from "../parts/related.js";
import { requestLine } from "../parts/request-line.js";
import { OWN, objectOf } from "../parts/resources.js";
import { table } from "../parts/rows.js";
import { allRoles, roleText } from "../parts/roles.js";
import { menuTitle, resourceName } from "../parts/seed.js";
import { edited, time } from "../parts/time.js";
import { RESOURCE, stateOf } from "../records/resource.js";
import { ACTION, RECORD } from "../strings/common.js";
import { RESOURCES as T } from "../strings/resources.js";
import { demandsText } from "../strings/step-up.js";

const ONE = "/api/resource/{id}";
const STATE = "/api/resource/{id}/enabled";
const BOUND = "/api/resource/{id}/buttons";

/** @typedef {import("../types/api").Resource} Resource */
/** @typedef {import("../types/api").BoundButton} BoundButton */

/** @param {Page} page */
export async function show(page) {
  const path = { id: page.params.id };
  const { data: resource, etag } = await page.call("GET", ONE, { path });
  const asked = new URLSearchParams({
    method: resource.method,
    path: resource.path,
    ...(resource.service === OWN ? {} : { service: resource.service }),
  });
  await record(page, {
    base: `/resources/${resource.id}`,
    crumbs: [["/resources", T.title]],
    title: resourceName(resource),
    state: stateOf(resource),
    primary:
      page.may("PATCH /api/resource/{id}") &&
      linkButton(`/resources/${resource.id}/edit`, ACTION.edit, { icon: "edit" }),
    acts: [
      page.may("PUT /api/resource/{id}/enabled") &&
        button(resource.enabled ? T.disable : T.enable, () =>
          toggle(page, RESOURCE, resource, etag, ["PUT", STATE]),
        ),
      page.may("DELETE /api/resource/{id}") &&
        button(ACTION.delete, () => deleting(page, RESOURCE, resource, etag), {
          kind: "danger",
          icon: "trash",
        }),
    ],
    tabs: [
      {
        path: "",
        text: T.buttons,
        show: async () => {
          const { data: bound, etag: boundTag } = await page.call("GET", BOUND, { path });
          return card("", bindings(page, resource, bound.buttons, boundTag));
        },
      },
      {
        path: "history",
        text: RECORD.history,
        show: () => history(page, `resource:${objectOf(resource)}`, resource),
      },
    ],
    aside: card(
      T.facts,
      definition([
        [T.request, requestLine(resource.method, resource.path)],
        [
          T.service,
          resource.service !== OWN && page.may("GET /api/service/list")
            ? link(`/services?name=${resource.service}`, resource.service)
            : resource.service,
        ],
        [T.code, copyable(resource.resourceCode)],
        [
          T.assurance,
          resource.assurance && demandsText([resource.assurance, ...(resource.services ? ["service"] : [])]),
        ],
        [T.description, resource.description],
        [T.created, time(resource.createTime)],
        [T.updated, edited(resource)],
      ]),
      related(
        page,
        ["GET /api/policy/who", `/policy/who?${asked}`, T.who, "user"],
        ["POST /api/policy/explain", `/policy/explain?${asked}`, T.explain, "help"],
      ),
    ),
  });
}

/** @param {Page} page @param {Resource} resource @param {BoundButton[]} bound @param {string | null} etag */
function bindings(page, resource, bound, etag) {
  const path = { id: resource.id };
  const ids = bound.map(({ id }) => id);
  const binds = page.may("PUT /api/resource/{id}/buttons");
  /** @param {number[]} menuIds @param {(id: number) => string} name @param {import("../parts/dialog.js").Box} [box] */
  const bind = async (menuIds, name, box) => {
    const added = menuIds.filter((id) => !ids.includes(id));
    const removed = ids.filter((id) => !menuIds.includes(id));
    if (!added.length && !removed.length) return tell(T.unchanged({ name: resourceName(resource) }));
    const names = (/** @type {string} */ title, /** @type {number[]} */ list, /** @type {string} */ kind) =>
      list.length > 0 &&
      h(
        "span",
        { class: "difference" },
        title,
        " ",
        list.map((id) => [badge(name(id), kind), " "]),
      );
    const done = await (box ? agreed : previewed)({
      box,
      title: T.bindTitle({ name: resourceName(resource) }),
      confirm: T.bindConfirm,
      danger: menuIds.length === 0,
      text: [names(T.adds, added, "good"), names(T.takes, removed, "bad")],
      write: (dryRun) => page.call("PUT", BOUND, { path, body: { menuIds }, ifMatch: etag, dryRun }),
    });
    if (!done) return undefined;
    tell(T.bound({ name: resourceName(resource) }), {
      undo: undoing(page, ["PUT", BOUND, { path, body: { menuIds: ids }, ifMatch: done.etag }]),
    });
    return page.reload();
  };
  const known = (/** @type {number} */ id) =>
    bound.find((button_) => button_.id === id)?.authMark ?? String(id);
  return [
    bound.length
      ? table(
          T.buttons,
          [T.button, T.permission, T.state, ""],
          bound.map((each) => [
            page.linked("menu", each.id, menuTitle(each)),
            h("code", null, each.authMark),
            stateOf(each),
            [
              page.may("PUT /api/role/{id}/permissions") &&
                page.may("GET /api/role/list") &&
                button(T.give, () => give(page, each), {
                  "aria-label": T.giveOne({ name: menuTitle(each) }),
                }),
              binds &&
                button(
                  T.unbind,
                  () =>
                    attempt(T.bindTitle({ name: resourceName(resource) }), () =>
                      bind(
                        ids.filter((id) => id !== each.id),
                        known,
                      ),
                    ),
                  { "aria-label": T.unbindOne({ name: menuTitle(each) }) },
                ),
            ],
          ]),
        )
      : empty(resource.service === OWN ? T.unbound : T.unboundElsewhere),
    bound.length > 0 && bound.every(({ enabled }) => !enabled) && h("p", { class: "note warn" }, T.closed),
    binds &&
      page.may("GET /api/menu/list") &&
      actions(
        button(
          T.bind,
          () =>
            attempt(T.bind, async () => {
              const options = await readButtons(page);
              const control = picker(options, ids, missingButton(page));
              const codeOf = (/** @type {number} */ id) => options.find(({ key }) => key === id)?.code ?? "";
              await ask({
                title: T.bind,
                text: T.bindText,
                confirm: T.preview,
                extra: [{ name: "menuIds", label: T.chooseButtons, type: "custom", control }],
                act: ({ menuIds }, { box }) => bind(menuIds, codeOf, box),
              });
            }),
          { icon: "link" },
        ),
      ),
  ];
}

/** Ask for a role, and go to its permissions with a Button chosen. @param {Page} page @param {BoundButton} bound */
function give(page, bound) {
  const title = T.giveOne({ name: menuTitle(bound) });
  return attempt(title, async () => {
    const roles = (await allRoles(page)).map((role) => [role.id, roleText(role)]);
    const options = [["", T.chooseRole], ...roles];
    const answer = await ask({
      title,
      text: T.giveText,
      confirm: T.giveNext,
      extra: [{ name: "role", label: T.role, type: "select", required: true, options }],
    });
    if (answer) page.go(`/roles/${answer.role}?add=${bound.id}`);
  });
}
