// @ts-check
/** One request for a role: what was asked, what it would change, who decides, and what happened. */
import { bullets, card, definition, h, link } from "../../core/dom.js";
import { REQUESTS as PATH } from "../../navigation.js";
import { access } from "../../parts/access.js";
import { block } from "../../parts/block.js";
import { covers } from "../../parts/codes.js";
import { codes } from "../../parts/policy.js";
import { record } from "../../parts/record.js";
import { related } from "../../parts/related.js";
import { roleName } from "../../parts/seed.js";
import { acts, approvers, asked, stateOf } from "./acts.js";
import { story } from "./request-story.js";
import { REQUESTS as T } from "./strings.js";

/** @typedef {import("./acts.js").AccessRequest} AccessRequest */

/** @param {Page} page */
export async function show(page) {
  const path = { id: page.params.id };
  const { data: request } = await page.call("GET", "/api/access-request/{id}", { path });
  const { approve, deny, withdraw, close } = acts(page, request);
  const base = `${PATH}/${request.id}`;
  await record(page, {
    base,
    crumbs: [[PATH, T.title]],
    title: T.titleOf({ role: roleName(request), user: request.userName }),
    state: stateOf(request),
    primary: approve || close || withdraw,
    acts: [],
    tabs: [
      { path: "", text: T.request, show: () => overview(page, request) },
      page.may("GET /api/policy/what") && {
        path: "access",
        text: T.opens,
        show: () => opens(page, request),
      },
    ],
    aside: [card(T.details, who(page, request), asked(request)), changes(page, request)],
  });
  if (deny) page.actions.prepend(deny);
}

/**
 * Return what the role opens: at first what it opens itself, without what is open to everybody.
 * @param {Page} page @param {AccessRequest} request
 */
function opens(page, { roleCode }) {
  if (!page.query.size) page.setQuery({ needs: "code" }, { show: false });
  return access(page, { roleCode });
}

/** True if the caller holds the permission of a stage. @param {Page} page @param {AccessRequest} request */
function approves(page, { stages }) {
  return stages.some(({ code }) => page.me.permissions.some((held) => covers(held, code)));
}

/** @param {Page} page @param {AccessRequest} request */
function overview(page, request) {
  const samePerson = request.userId !== page.me.id && approves(page, request) && request.samePerson;
  return [
    samePerson && h("p", { class: "note warn" }, T.samePerson({ reason: samePerson })),
    card(
      T.stages,
      request.emergency
        ? h("p", null, T.atOnce)
        : [approvers(request.stages), h("p", { class: "help" }, T.anyOrder)],
    ),
    block(page, T.story, () => story(page, request)),
  ];
}

/** @param {Page} page @param {AccessRequest} request */
function who(page, request) {
  const { userId, userName, roleId, roleCode, decisionId } = request;
  const explains = page.may("POST /api/policy/explain") && page.may("GET /api/operation-log/{id}");
  const refusal = decisionId && h("code", null, decisionId);
  return definition([
    [
      T.role,
      [
        page.linked("role", roleId, roleName(request)),
        " ",
        roleName(request) !== roleCode && h("code", null, roleCode),
      ],
    ],
    [T.who, page.linked("user", userId, userName)],
    [
      T.refusal,
      decisionId && explains
        ? link(`/policy/explain?${new URLSearchParams({ decisionId })}`, refusal)
        : refusal,
    ],
  ]);
}

/**
 * Return what the role adds for its author, and which statements about the policy that would break, as far as the
 * service tells.
 * @param {Page} page @param {AccessRequest} request
 */
function changes(page, request) {
  const { userId, userName, roleCode, assignmentId, held, breaks, permissionsAdded, permissionsRemoved } =
    request;
  const fresh = held && request.permissions?.filter((code) => !held.includes(code));
  const shown = [
    permissionsAdded?.length &&
      h("div", { class: "note warn" }, h("p", null, T.added), codes(permissionsAdded)),
    permissionsRemoved?.length && [h("p", null, T.removed), codes(permissionsRemoved)],
    fresh?.length && [h("p", null, T.fresh({ user: userName })), codes(fresh)],
    held &&
      (held.length
        ? [h("p", null, T.held({ user: userName })), codes(held)]
        : h("p", null, T.heldNothing({ user: userName }))),
    breaks &&
      (breaks.length
        ? h(
            "div",
            { class: "note bad" },
            h("p", null, T.breaks),
            bullets(breaks, (statement) => statement),
          )
        : h("p", null, T.breaksNothing)),
    related(
      page,
      [
        "GET /api/policy/what-if",
        `/policy/what-if?${new URLSearchParams({ userName, with: roleCode })}`,
        T.wouldChange({ user: userName }),
        "scale",
      ],
      ...(assignmentId === null
        ? []
        : [
            /** @type {[string, string, string, string]} */ ([
              "GET /api/user/{id}/roles",
              `/users/${userId}/roles?ended=true`,
              T.assignment,
              "clock",
            ]),
          ]),
    ),
  ].filter(Boolean);
  return shown.length > 0 && card(T.change, shown);
}
