// @ts-check
/** One user: what is stored, whether they may log in, their sessions, and what can be done about them. */
import { actions, badge, badges, button, card, definition, empty, h, linkButton } from "../core/dom.js";
import { access } from "../parts/access.js";
import { assign, assignments } from "../parts/assignments.js";
import { ban, unban } from "../parts/bans.js";
import { block } from "../parts/block.js";
import { deleting } from "../parts/declared.js";
import { settled, tell } from "../parts/dialog.js";
import { factors } from "../parts/factors-of.js";
import { history } from "../parts/history.js";
import { invite } from "../parts/invitations.js";
import { keys } from "../parts/keys.js";
import { origins } from "../parts/origins.js";
import { areThere } from "../parts/providers.js";
import { attempt, setEnabled } from "../parts/preview.js";
import { record } from "../parts/record.js";
import { related } from "../parts/related.js";
import { table } from "../parts/rows.js";
import { takeovers } from "../parts/takeovers.js";
import { coming, edited, time } from "../parts/time.js";
import { lastLogin, stateOf } from "../parts/users.js";
import { kindOf } from "../records/user.js";
import { roleName } from "../parts/seed.js";
import { ASSIGNMENTS } from "../strings/assignments.js";
import { ACTION, RECORD, RELATED, LIST, enumerated } from "../strings/common.js";
import { ORIGINS } from "../strings/providers.js";
import { USERS as T } from "../strings/users.js";

/** Served where people have keys. */
const OWN_KEYS = "GET /api/user/profile/keys";
const STATUS = "/api/user/{id}/status";

/** @param {Page} page @param {import("../types/view").ShowPart[]} parts Further acts. */
export async function show(page, parts) {
  const path = { id: page.params.id };
  const [{ data: user, etag }, ends] = await Promise.all([
    page.call("GET", "/api/user/{id}", { path }),
    endsOfRoles(page, page.params.id),
  ]);
  const self = user.id === page.me.id;
  const kind = kindOf(user);
  const base = `/users/${user.id}`;
  const { directory } = user;
  const managed = directory === null ? {} : { disabled: true, title: ORIGINS.managed({ name: directory }) };
  await record(page, {
    base,
    crumbs: [[kind.view, kind.texts.title]],
    title: user.userName,
    state: stateOf(user),
    primary: page.may("PATCH /api/user/{id}") && linkButton(`${base}/edit`, ACTION.edit, { icon: "edit" }),
    acts: [
      !self &&
        page.may("PUT /api/user/{id}/status") &&
        meant(
          button(user.status === "enabled" ? T.disable : T.enable, () => setStatus(page, user, etag), {
            title: user.status === "enabled" ? kind.texts.disableFor : undefined,
            ...managed,
          }),
        ),
      !self &&
        page.may("POST /api/online/{loginId}/ban") &&
        (user.ban
          ? button(T.unban, () => letIn(page, user))
          : meant(button(T.ban, () => keepOut(page, user), { title: T.banFor }))),
      user.invited &&
        page.may("POST /api/user/{id}/invitation") &&
        button(T.invite, () => invite(page, user), { icon: "mail" }),
      !self &&
        user.email &&
        !user.emailVerified &&
        page.may("POST /api/user/{id}/email/verification") &&
        button(T.verify, () => verify(page, user), { icon: "check" }),
      !self &&
        user.recoveryEmail &&
        page.may("POST /api/user/{id}/password-reset") &&
        document.documentElement.dataset.mail &&
        button(T.sendReset, () => sendReset(page, user), { icon: "mail" }),
      !self &&
        user.kind === "person" &&
        page.may("PUT /api/user/{id}/password") &&
        button(T.reset, () => reset(page, user), { icon: "key" }),
      !self &&
        page.may("DELETE /api/user/{id}") &&
        button(ACTION.delete, () => deleting(page, kind, user, etag), {
          kind: "danger",
          icon: "trash",
          ...managed,
        }),
      ...(await Promise.all(parts.map((part) => part(page, user)))),
    ],
    note: [
      self && h("p", { class: "note" }, T.self),
      directory !== null && h("p", { class: "note" }, ORIGINS.managed({ name: directory })),
    ],
    tabs: [
      {
        path: "",
        text: T.facts,
        show: () => [
          card("", facts(user)),
          page.may("GET /api/user/{id}/takeovers") &&
            block(page, "", () => takeovers(page, user), { quiet: true }),
        ],
      },
      { path: "roles", text: ASSIGNMENTS.tab, show: () => assignments(page, user) },
      { path: "access", text: RECORD.access, show: () => access(page, { userName: user.userName }) },
      { path: "sessions", text: T.sessions, show: () => sessions(page, user) },
      user.kind === "person" &&
        !self && {
          path: "factors",
          text: T.factors,
          show: () => factors(page, user),
        },
      user.kind === "person" &&
        (areThere() || directory !== null) && {
          path: "origins",
          text: ORIGINS.tab,
          show: () => origins(page, user),
        },
      (user.kind === "service" || page.may(OWN_KEYS) || page.path === `${base}/keys`) && {
        path: "keys",
        text: T.keys,
        show: () => keys(page, user),
      },
      { path: "history", text: RECORD.history, show: () => history(page, `user:${user.userName}`, user) },
    ],
    aside: card(
      T.status,
      standing(page, user, ends),
      related(page, [
        "GET /api/login-log/list",
        `/logs/logins?${new URLSearchParams({ userId: String(user.id) })}`,
        RELATED.signIns,
        "log-in",
      ]),
    ),
  });
  if (!self && page.path !== `${base}/roles` && page.may("POST /api/user/{id}/roles"))
    page.actions.prepend(button(ASSIGNMENTS.assign, () => assign(page, user), { icon: "plus" }));
}

/** Show the title of an act below its text too: what the act is for. @param {HTMLElement} act */
function meant(act) {
  if (act.title) act.append(h("small", { "aria-hidden": "true" }, act.title));
  return act;
}

/** @param {import("../parts/users.js").User} user */
function facts(user) {
  return definition([
    [T.nickName, user.nickName],
    [T.email, user.email && [user.email, " ", !user.emailVerified && badge(T.unverified)]],
    [T.phone, user.phone],
    [T.gender, user.gender && T.genders[user.gender]],
    [T.avatar, user.avatar],
    [T.kind, T.kinds[user.kind]],
    [T.service, user.service],
  ]);
}

/**
 * Return the last end of each role of a user, by its code; null for none. Nothing for callers who may not read that.
 * @param {Page} page @param {string} id @returns {Promise<Map<string, string | null>>}
 */
async function endsOfRoles(page, id) {
  if (!page.may("GET /api/user/{id}/roles")) return new Map();
  const { data } = await page.call("GET", "/api/user/{id}/roles", { path: { id }, query: { size: 200 } });
  const ends = new Map();
  for (const { roleCode, until } of data.items) {
    const other = ends.get(roleCode);
    const isLater = other === undefined || (other && (!until || Date.parse(until) > Date.parse(other)));
    if (isLater) ends.set(roleCode, until);
  }
  return ends;
}

/**
 * Return why a user may not sign in, their roles with their ends, and when the account changed.
 * @param {Page} page
 * @param {import("../parts/users.js").User} user
 * @param {Map<string, string | null>} ends
 */
function standing(page, user, ends) {
  const { ban: banned } = user;
  return definition([
    [
      T.banned,
      banned && [
        T.bannedBy({ name: banned.bannedBy ?? T.somebody }),
        " ",
        time(banned.createTime),
        LIST.comma,
        banned.until ? [T.until, " ", time(banned.until)] : T.noEnd,
        banned.reason && [": ", h("q", null, banned.reason)],
      ],
    ],
    [
      T.roles,
      user.roles.length
        ? badges(
            user.roles.map((role) => [
              page.linked("role", role.id, badge(roleName(role))),
              ends.get(role.roleCode) && h("small", null, " ", T.until, " ", coming(ends.get(role.roleCode))),
            ]),
          )
        : T.noRoles,
    ],
    [T.lastLogin, user.kind === "person" && lastLogin(user)],
    [T.created, time(user.createTime)],
    [T.updated, edited(user)],
  ]);
}

/** @param {Page} page @param {import("../parts/users.js").User} user */
async function sessions(page, user) {
  const { data } = await page.call("GET", "/api/online/list", {
    query: { userName: user.userName, size: 200 },
  });
  const open = data.items.filter((/** @type {any} */ login) => login.loginId === String(user.id));
  if (!open.length) return empty(T.noSessions);
  const kicks = page.may("DELETE /api/online/{loginId}/{device}");
  return [
    table(
      T.sessions,
      [T.device, T.browser, T.address, T.loggedIn, ...(kicks ? [""] : [])],
      open.map((/** @type {any} */ login) => [
        login.device,
        enumerated([login.browser, login.os]),
        login.loginIp,
        time(login.loginTime),
        ...(kicks
          ? [
              button(T.kick, () => kick(page, user, login.device), {
                "aria-label": T.kickDevice({ device: login.device }),
              }),
            ]
          : []),
      ]),
    ),
    open.length > 1 &&
      page.may("DELETE /api/online/{loginId}") &&
      actions(button(T.kickAll, () => kick(page, user, null))),
  ];
}

/** @param {Page} page @param {import("../parts/users.js").User} user @param {string | null} etag */
function setStatus(page, user, etag) {
  const path = { id: user.id };
  return setEnabled(page, {
    on: user.status !== "enabled",
    name: user.userName,
    texts: kindOf(user).texts,
    etag,
    write: (on, options) =>
      page.call("PUT", STATUS, { path, body: { status: on ? "enabled" : "disabled" }, ...options }),
  });
}

/** @param {Page} page @param {import("../parts/users.js").User} user */
function keepOut(page, user) {
  return attempt(T.ban, async () => {
    if (await ban(page, user.id, user.userName)) await page.reload();
  });
}

/** @param {Page} page @param {import("../parts/users.js").User} user */
function letIn(page, user) {
  return attempt(T.unban, async () => {
    await unban(page, user.id, user.userName);
    await page.reload();
  });
}

/** @param {Page} page @param {import("../parts/users.js").User} user */
async function reset(page, user) {
  await settled(page, T.resetDone({ name: user.userName }), {
    title: T.resetTitle({ name: user.userName }),
    text: T.resetText,
    confirm: T.resetConfirm,
    danger: true,
    extra: [
      {
        name: "newPassword",
        label: T.newPassword,
        type: "password",
        required: true,
        attributes: { autocomplete: "new-password" },
      },
    ],
    act: (body) => page.call("PUT", "/api/user/{id}/password", { path: { id: user.id }, body }),
  });
}

/** @param {Page} page @param {import("../parts/users.js").User} user */
async function verify(page, user) {
  const path = { id: user.id };
  await settled(page, T.verified({ name: user.userName }), {
    title: T.verifyTitle({ email: user.email ?? "" }),
    text: T.verifyText,
    confirm: T.verify,
    act: () => page.call("POST", "/api/user/{id}/email/verification", { path }),
  });
}

/** @param {Page} page @param {import("../parts/users.js").User} user */
function sendReset(page, user) {
  return attempt(T.sendReset, async () => {
    await page.call("POST", "/api/user/{id}/password-reset", { path: { id: user.id } });
    tell(T.resetSent({ name: user.userName }));
  });
}

/** @param {Page} page @param {import("../parts/users.js").User} user @param {string | null} device */
async function kick(page, user, device) {
  const path = { loginId: user.id, device: device ?? "" };
  await settled(
    page,
    device ? T.kickedFrom({ name: user.userName, device }) : T.kicked({ name: user.userName }),
    {
      title: device ? T.kickTitle({ name: user.userName, device }) : T.kickAllTitle({ name: user.userName }),
      text: T.kickText,
      confirm: T.kickConfirm,
      danger: true,
      act: () =>
        page.call("DELETE", device ? "/api/online/{loginId}/{device}" : "/api/online/{loginId}", { path }),
    },
  );
}
