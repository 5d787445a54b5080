// @ts-check
/** One user: what is stored, whether they may log in, their sessions, and what can be done about them. */
import { badge, button, card, definition, empty, h, link, linkButton } from "../core/dom.js";
import { ban, unban } from "../parts/bans.js";
import { ask, tell } from "../parts/dialog.js";
import { attempt, remove, setEnabled } from "../parts/preview.js";
import { entries, related, what } from "../parts/related.js";
import { table } from "../parts/rows.js";
import { edited, time } from "../parts/time.js";
import { lastLogin, stateOf } from "../parts/users.js";
import { ACTION, RELATED } from "../strings/common.js";
import { USERS as T } from "../strings/users.js";

const STATUS = "/api/user/{id}/status";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  const path = { id: page.params.id };
  /** @type {{data: import("../parts/users.js").User, etag: string | null}} */
  const { data: user, etag } = await page.call("GET", "/api/user/{id}", { path });
  const self = user.id === page.me.id;
  page.crumbs(["/users", T.title]);
  page.title(
    user.userName,
    page.may("PATCH /api/user/{id}") && linkButton(`/users/${user.id}/edit`, ACTION.edit, { icon: "edit" }),
    !self &&
      page.may("PUT /api/user/{id}/status") &&
      button(user.status === "enabled" ? T.disable : T.enable, () => setStatus(page, user, etag)),
    !self &&
      page.may("POST /api/online/{loginId}/ban") &&
      (user.ban ? button(T.unban, () => letIn(page, user)) : button(T.ban, () => keepOut(page, user))),
    user.kind === "service" &&
      page.may("GET /api/user/{id}/keys") &&
      linkButton(`/users/${user.id}/keys`, T.keys, { icon: "key" }),
    !self &&
      user.kind === "person" &&
      page.may("PUT /api/user/{id}/password") &&
      button(T.reset, () => reset(page, user), { icon: "key" }),
    !self &&
      page.may("DELETE /api/user/{id}") &&
      button(ACTION.delete, () => deleteUser(page, user, etag), { kind: "danger", icon: "trash" }),
  );
  page.put(
    self && h("p", { class: "note" }, T.self),
    card(
      T.facts,
      facts(page, user),
      related(page, what({ userName: user.userName }), entries(`user:${user.userName}`), [
        "GET /api/login-log/list",
        `/logs/logins?${new URLSearchParams({ userName: user.userName })}`,
        RELATED.signIns,
        "log-in",
      ]),
    ),
    page.may("GET /api/online/list") && card(T.sessions, await sessions(page, user)),
  );
}

/** @param {import("../core/page.js").Page} page @param {import("../parts/users.js").User} user */
function facts(page, user) {
  const { ban: banned } = user;
  return definition([
    [
      T.status,
      [
        stateOf(user),
        banned &&
          h(
            "p",
            null,
            T.bannedBy(banned.bannedBy ?? T.somebody),
            " ",
            time(banned.createTime),
            ", ",
            banned.until ? [T.until, " ", time(banned.until)] : T.noEnd,
            banned.reason && [": ", h("q", null, banned.reason)],
          ),
      ],
    ],
    [T.nickName, user.nickName],
    [T.email, user.email],
    [T.phone, user.phone],
    [T.gender, user.gender && T.genders[user.gender]],
    [T.avatar, user.avatar],
    [T.kind, T.kinds[user.kind]],
    [T.service, user.service],
    [T.lastLogin, user.kind === "person" && lastLogin(user)],
    [
      T.roles,
      user.roles.length
        ? user.roles.map((role) => [
            page.may("GET /api/role/{id}")
              ? link(`/roles/${role.id}`, badge(role.roleName))
              : badge(role.roleName),
            " ",
          ])
        : T.noRoles,
    ],
    [T.created, time(user.createTime)],
    [T.updated, edited(user)],
  ]);
}

/** @param {import("../core/page.js").Page} page @param {import("../parts/users.js").User} user */
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
        `${login.browser}, ${login.os}`,
        login.loginIp,
        time(login.loginTime),
        ...(kicks
          ? [
              button(T.kick, () => kick(page, user, login.device), {
                "aria-label": T.kickDevice(login.device),
              }),
            ]
          : []),
      ]),
    ),
    open.length > 1 &&
      page.may("DELETE /api/online/{loginId}") &&
      h(
        "div",
        { class: "actions" },
        button(T.kickAll, () => kick(page, user, null)),
      ),
  ];
}

/**
 * @param {import("../core/page.js").Page} page
 * @param {import("../parts/users.js").User} user
 * @param {string | null} etag
 */
function setStatus(page, user, etag) {
  const path = { id: user.id };
  return setEnabled(page, {
    on: user.status !== "enabled",
    name: user.userName,
    texts: T,
    etag,
    write: (on, options) =>
      page.call("PUT", STATUS, { path, body: { status: on ? "enabled" : "disabled" }, ...options }),
  });
}

/** @param {import("../core/page.js").Page} page @param {import("../parts/users.js").User} user */
function keepOut(page, user) {
  return attempt(T.ban, async () => {
    if (await ban(page, user.id, user.userName)) await page.reload();
  });
}

/** @param {import("../core/page.js").Page} page @param {import("../parts/users.js").User} user */
function letIn(page, user) {
  return attempt(T.unban, async () => {
    await unban(page, user.id, user.userName);
    await page.reload();
  });
}

/** @param {import("../core/page.js").Page} page @param {import("../parts/users.js").User} user */
async function reset(page, user) {
  const done = await ask({
    title: T.resetTitle(user.userName),
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
  if (!done) return;
  tell(T.resetDone(user.userName));
  await page.reload();
}

/**
 * @param {import("../core/page.js").Page} page
 * @param {import("../parts/users.js").User} user
 * @param {string | null} device
 */
async function kick(page, user, device) {
  const path = { loginId: user.id, device: device ?? "" };
  const done = await ask({
    title: device ? T.kickTitle(user.userName, device) : T.kickAllTitle(user.userName),
    text: T.kickText,
    confirm: T.kickConfirm,
    danger: true,
    act: () =>
      page.call("DELETE", device ? "/api/online/{loginId}/{device}" : "/api/online/{loginId}", { path }),
  });
  if (!done) return;
  tell(T.kicked(user.userName));
  await page.reload();
}

/**
 * @param {import("../core/page.js").Page} page
 * @param {import("../parts/users.js").User} user
 * @param {string | null} etag
 */
function deleteUser(page, user, etag) {
  const path = { id: user.id };
  return remove(page, {
    name: user.userName,
    texts: T,
    write: (dryRun) => page.call("DELETE", "/api/user/{id}", { path, ifMatch: etag, dryRun }),
    next: "/users",
  });
}
