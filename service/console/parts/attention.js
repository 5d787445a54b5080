// @ts-check
/** What needs attention: findings of health, and what nobody has, uses or reaches; each with its one action. */
import { badge, h, link } from "../core/dom.js";
import * as health from "../core/health.js";
import { shownNumber } from "../core/locale.js";
import { HEALTH } from "../navigation.js";
import { DOCTOR } from "../strings/doctor.js";
import { ATTENTION as T } from "../strings/home.js";
import { rows, way } from "./block.js";
import { resourceName, roleName } from "./seed.js";
import { time, timeText } from "./time.js";

/** @typedef {import("./block.js").Row} Row */

/** How many records a row names. */
const NAMED = 3;

/** Lists whose entries nobody should leave as they are. */
const KINDS = /** @type {const} */ ([
  {
    list: "/api/user/list",
    query: { hasRole: false, status: ["enabled"], sort: "userName" },
    address: "/users?hasRole=false&status=enabled",
    name: (/** @type {any} */ user) => user.userName,
    text: T.roleless,
    help: T.rolelessText,
    act: T.rolelessAct,
  },
  {
    list: "/api/role/list",
    needs: "GET /api/user/list",
    query: { hasUser: false, enabled: true, sort: "roleName" },
    address: "/roles?hasUser=false&enabled=true",
    name: (/** @type {any} */ role) => roleName(role),
    text: T.unused,
    help: T.unusedText,
    act: T.unusedAct,
  },
  {
    list: "/api/resource/list",
    query: { closed: true, sort: "resourceName" },
    address: "/resources?closed=true",
    name: (/** @type {any} */ resource) => resourceName(resource),
    text: T.closed,
    help: T.closedText,
    act: T.closedAct,
  },
]);

/** Return the kinds that the caller may list. @param {Page} page */
function kindsFor(page) {
  return KINDS.filter((kind) => page.may(`GET ${kind.list}`) && (!("needs" in kind) || page.may(kind.needs)));
}

/** Tell whether there may be anything to attend to for the caller. @param {Page} page */
export function attends(page) {
  return page.may("GET /api/system/findings") || kindsFor(page).length > 0;
}

/**
 * Read and return all of it.
 * @param {Page} page
 * @param {{quiet: boolean}} options `quiet`: findings alone, and nothing if there are none.
 */
export async function attention(page, { quiet }) {
  const kinds = quiet ? [] : kindsFor(page);
  const [checked, ...counted] = await Promise.all([
    page.may("GET /api/system/findings") ? health.readTexts() : null,
    ...kinds.map((kind) => neglected(page, kind)),
  ]);
  const wrong = checked ? health.wrong(checked).sort((a, b) => worst(a) - worst(b)) : [];
  const all = [...wrong.map((finding) => findingRow(page, finding)), ...counted.flat()];
  if (quiet && all.length === 0) return null;
  const { guide } = document.documentElement.dataset;
  return [
    all.length > 0 ? rows(all) : h("p", null, T.fine),
    checked &&
      h(
        "p",
        { class: "help" },
        DOCTOR.checkedAt,
        " ",
        time(checked.checkedTime, { ago: true }),
        " · ",
        link(HEALTH, DOCTOR.all),
        guide && [" · ", h("a", { href: `${guide}/guides/check-health.html`, target: "_blank" }, T.guide)],
      ),
  ];
}

/** Where the finding of a check is dealt with, where the console can. */
const ADDRESSES = /** @type {Record<string, string>} */ ({
  "first-administrator": "/users/{user}",
  "api-keys": "/users/{user}/keys",
  administrators: "/users?roleCode=super",
  "role-ends": "/assignments?endless=false&sort=until",
  "role-demands": "/users/{user}/roles",
  jobs: "/jobs",
  routes: "/resources/coverage",
  "permission-codes": "/menus",
  "policy-tampering": "/policy/revisions",
  "published-policy": "/policy/revisions",
});

/** @param {import("../types/api").CheckFinding} finding */
function worst({ state }) {
  return Object.keys(DOCTOR.states).indexOf(state);
}

/** @param {Page} page @param {import("../types/api").CheckFinding} finding @returns {Row} */
function findingRow(page, { check, state, message, remedy, users: [user] }) {
  const own = check === "first-administrator" && user?.id === page.me.id;
  const [address, text] = own
    ? ["/account", T.changeOwn]
    : Object.hasOwn(ADDRESSES, check)
      ? [ADDRESSES[check], T.acts[check]]
      : [HEALTH, T.details];
  return {
    mark: badge(DOCTOR.states[state] ?? state, state === "fault" ? "bad" : "warn"),
    text: [h("strong", null, `${DOCTOR.check(check)}:`), " ", localTimes(message)],
    help: remedy && localTimes(remedy[0].toUpperCase() + remedy.slice(1)),
    act: way(page, user ? address.replace("{user}", String(user.id)) : address, text),
  };
}

/** Return a text of the service with its times in the reader's zone. @param {string} text */
function localTimes(text) {
  return text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d(?::[\d.]+)?(?:Z|[+-]\d\d:\d\d)/g, timeText);
}

/** @param {Page} page @param {typeof KINDS[number]} kind @returns {Promise<Row[]>} */
async function neglected(page, { list, query, address, name, text, help, act }) {
  const { data } = await page.call("GET", list, { query: { ...query, size: NAMED } });
  if (data.total === 0) return [];
  const names = data.items.map((/** @type {any} */ item) => name(item));
  return [
    {
      mark: link(address, badge(shownNumber(data.total), "info")),
      text: [h("strong", null, text({ n: data.total })), `: ${T.names(names, data.total)}`],
      help,
      act: way(page, address, act),
    },
  ];
}
