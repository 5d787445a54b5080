// @ts-check
/** What stands around every view: the navigation, the account, messages, the keyboard. */
import { HEALTH, NOTICES, REQUESTS } from "../navigation.js";
import { FRAME, GROUPS, SHORTCUTS } from "../strings/frame.js";
import { trouble } from "../parts/trouble.js";
import { button, h, icon, link, mark, PRODUCT } from "./dom.js";
import { keepFocus, leaveFocus } from "./focus.js";
import * as health from "./health.js";
import * as notices from "./notices.js";
import * as queue from "./queue.js";
import { navigation, offers, ownEntries, page, reconsider, start, stop, useViews } from "./router.js";
import { session } from "./session.js";
import { shownNumber, useZone, zoneOfPage } from "./locale.js";

/** @type {HTMLElement} */ let list;
/** @type {HTMLElement} */ let account;
/** How many findings there are, beside the entry that leads to them. */
const alarm = h("span", { class: "badge warn", hidden: true });
/** How many requests for roles wait for the caller, beside the entry that leads to them. */
const waiting = h("span", { class: "badge info", hidden: true });
/**
 * Shows the navigation over the view, or takes it away, where the screen is narrow.
 * @type {(on: boolean) => void}
 */
let toggle;
/** How many notices the caller has not read: a way to them, beside the account. */
const bell = h("nav", { "aria-label": FRAME.notices, hidden: true });
/** What stands beside entries, by their path. @type {Record<string, HTMLElement>} */
const BESIDE = { [HEALTH]: alarm, [REQUESTS]: waiting };
/** All views. @type {import("../types/view").View[]} */ let known = [];
/** The rights of the caller, and all that the frame shows of them. */
let [held, drawn] = ["", ""];
/** The path of the view whose entry is marked. */
let marked = "";
/** @type {Promise<void> | null} */ let refreshing = null;
/** The zone in which all times are shown. */
const zoned = h("span");
/** True until the first refresh, as the start of the page has identified the caller. */
let identified = false;
/** Ends the events of the account that is shown. */
let following = new AbortController();
/** The title of the view that is shown, and how much waits for the caller, by what stands beside its entry. */
let titled = PRODUCT;
/** @type {Map<HTMLElement, number>} */ const waits = new Map();

/**
 * Show the frame to the caller, who is identified, and in it the view of the address.
 * @param {import("../types/view").View[]} views
 */
export async function open(views) {
  useViews(views);
  known = views;
  identified = true;
  for (const { pattern, entry: own } of views) {
    if (own?.waiting) BESIDE[pattern] ??= h("span", { class: "badge info", hidden: true });
  }
  const outlet = h("main", { id: "content", tabindex: "-1" });
  const drawer = button(FRAME.open, () => toggle(true), {
    icon: "menu",
    label: true,
    kind: "quiet drawer",
    "aria-expanded": "false",
    "aria-controls": "side",
  });
  list = h("ul", { class: "nav" });
  account = h("div", { class: "account" });
  const side = h(
    "div",
    { id: "side" },
    h(
      "header",
      { class: "brand" },
      link("/", mark(), PRODUCT),
      button(FRAME.close, () => toggle(false), { icon: "close", label: true, kind: "quiet drawer" }),
    ),
    finder(false),
    h("nav", { "aria-label": FRAME.navigation }, list),
    account,
    foot(),
  );
  const shade = h("div", { class: "shade", onclick: () => toggle(false) });
  toggle = (on) => {
    document.body.classList.toggle("drawn", on);
    drawer.setAttribute("aria-expanded", String(on));
    if (on) /** @type {HTMLElement | null} */ (side.querySelector("a, button"))?.focus();
    else if (side.contains(document.activeElement)) drawer.focus();
  };
  side.addEventListener("click", (event) => {
    if (/** @type {Element} */ (event.target).closest("a")) toggle(false);
  });
  document.body.replaceChildren(
    h(
      "a",
      {
        class: "skip",
        href: "#content",
        onclick: (/** @type {Event} */ event) => {
          event.preventDefault();
          outlet.focus();
        },
      },
      FRAME.skip,
    ),
    h("section", { class: "top", "aria-label": PRODUCT }, drawer, link("/", mark(), PRODUCT), finder(true)),
    h("div", { class: "layout" }, side, shade, outlet),
    ...document.querySelectorAll("dialog"),
  );
  document.addEventListener("keydown", pressed);
  addEventListener("focus", returned);
  keepFocus(() => page()?.heading ?? outlet);
  session.hooks.changed = () => {
    refresh().catch(() => {});
  };
  health.hooks.counted = (count) => {
    alarm.hidden = count === 0;
    alarm.replaceChildren(String(count), h("span", { class: "hidden" }, FRAME.findings({ n: count })));
  };
  queue.hooks.counted = (count) => wait(waiting, count);
  notices.hooks.counted = (count) => {
    bell.hidden = count === 0;
    bell.replaceChildren(
      link(NOTICES, icon("bell"), h("span", { class: "badge warn" }, FRAME.unread({ count }))),
    );
  };
  await refresh();
  follow();
  await start(
    outlet,
    (title, path) => {
      titled = path === "/" ? PRODUCT : `${title} · ${PRODUCT}`;
      entitle();
      current(path);
    },
    refresh,
  );
}

/** Refresh what is shown when the service reports that rights have changed, or that the session has ended. */
async function follow() {
  following.abort();
  following = new AbortController();
  const { signal } = following;
  if (!session.mayCall("GET /api/events/mine")) return;
  try {
    const client = await import("../client/events.js");
    await client.follow(/** @type {any} */ (session), { changed: refresh, signal });
  } catch {
    // Without events, the window asks when the caller comes back to it.
  }
}

/** Show how much waits for the caller. @param {HTMLElement} beside @param {number} count */
function wait(beside, count) {
  waits.set(beside, count);
  entitle();
  beside.hidden = count === 0;
  beside.replaceChildren(String(count), h("span", { class: "hidden" }, FRAME.waiting({ n: count })));
}

/** Show the title in the tab, with how much waits for the caller. */
function entitle() {
  const count = [...waits.values()].reduce((sum, each) => sum + each, 0);
  document.title = count > 0 ? `(${shownNumber(count)}) ${titled}` : titled;
}

/** Count what waits beside the entry of a feature. @param {import("../types/view").View} view */
async function countWaiting({ pattern, operation, entry }) {
  if (!entry?.waiting || (operation && !session.mayCall(operation))) return;
  const { hooks, count } = await entry.waiting();
  hooks.counted = (number) => wait(BESIDE[pattern], number);
  await count();
}

/** Take the frame away: the session has ended. */
export function close() {
  following.abort();
  stop();
  leaveFocus();
  session.hooks.changed = () => {};
  removeEventListener("focus", returned);
  document.removeEventListener("keydown", pressed);
  [held, drawn, marked, refreshing] = ["", "", "", null];
  waits.clear();
  // The next user must not take back what this one has done.
  document.querySelector("#messages [aria-keyshortcuts]")?.closest(".message")?.remove();
  document.body.replaceChildren(...document.querySelectorAll("#messages"));
  document.body.classList.remove("drawn");
}

/** Read who the caller is and what they may do, and show the navigation for that. */
export function refresh() {
  refreshing ??= refreshed().finally(() => {
    refreshing = null;
  });
  return refreshing;
}

async function refreshed() {
  const before = session.me;
  if (!identified) await session.identify();
  identified = false;
  useZone(session.me?.timeZone);
  zoned.textContent = FRAME.zone({ zone: zoneOfPage() });
  const { me, operations } = session;
  if (!me) return;
  if (before && before.id !== me.id) await session.restart(); // another tab has signed in as somebody else
  if (session.mayCall("GET /api/system/findings")) health.read().catch(() => {}); // the views of them say what is wrong
  notices.read().catch(() => {}); // the view of them says what is wrong
  if (session.mayCall("GET /api/access-request/list")) queue.read().catch(() => {}); // as do those of requests
  for (const view of known) countWaiting(view).catch(() => {}); // and those of features
  const rights = JSON.stringify([me.roles, me.permissions, [...operations]]);
  const changed = held !== "" && rights !== held;
  held = rights;
  const all = JSON.stringify([me, rights]);
  if (all === drawn) return;
  drawn = all;
  list.replaceChildren(entry("/", FRAME.home, "home"), ...groups(await stillEmpty()));
  account.replaceChildren(
    bell,
    h(
      "details",
      { class: "menu" },
      h(
        "summary",
        { "aria-label": FRAME.signedInAs({ name: me.nickName || me.name }) },
        initials(me),
        h("span", null, h("strong", null, me.nickName || me.name), h("small", null, me.name)),
        icon("up"),
      ),
      h(
        "ul",
        null,
        ownEntries()
          .filter(([path]) => offers(path))
          .map(([path, text, shown]) => h("li", null, link(path, icon(shown), text))),
        h("li", null, button(FRAME.shortcuts, shortcuts, { icon: "help", kind: "plain" })),
        h("li", null, theme()),
        h(
          "li",
          null,
          button(
            FRAME.signOut,
            async () => {
              try {
                await session.signOut();
              } catch (problem) {
                const { dialog } = await import("../parts/dialog.js");
                dialog(FRAME.signOut, trouble(problem));
              }
            },
            { icon: "log-out", kind: "plain" },
          ),
        ),
      ),
    ),
  );
  current(location.hash.slice(1).split("?")[0] || "/");
  if (!changed) return;
  (await import("../parts/dialog.js")).tell(FRAME.changes);
  await reconsider();
}

/** Look at what the caller may do when they come back to the window: somebody may have given them a role. */
function returned() {
  refresh().catch(() => {});
}

/** What fills the views of a group: they are folded until it is there. @type {Record<string, string>} */
const FILLED_BY = { [GROUPS.policy]: "role", [GROUPS.endpoints]: "resource", [GROUPS.activity]: "user" };

/** Return the titles of the groups whose views have nothing to show yet, in a new installation. */
async function stillEmpty() {
  if (!session.mayCall("GET /api/system/first-steps")) return [];
  try {
    const { takenSteps } = await import("../parts/first-steps.js");
    const taken = await takenSteps({
      may: (each) => session.mayCall(each),
      call: session.call.bind(session),
    });
    return Object.keys(FILLED_BY).filter((title) => taken && !taken[FILLED_BY[title]]);
  } catch {
    return []; // nothing is hidden by mistake
  }
}

/**
 * Return the groups of the navigation, with the entries whose views the caller may see.
 * @param {readonly string[]} empty The titles of those that are folded at first.
 */
function groups(empty) {
  return navigation().flatMap(([title, entries]) => {
    const offered = entries.filter(([path]) => offers(path));
    if (offered.length === 0) return [];
    return h(
      "li",
      { class: "group" },
      h(
        "details",
        { open: !empty.includes(title) },
        h("summary", null, title),
        h(
          "ul",
          { "aria-label": title },
          offered.map(([path, text, shown]) => entry(path, text, shown, BESIDE[path])),
        ),
      ),
    );
  });
}

/** Return a button that opens the palette. @param {boolean} label Whether it is an icon alone. */
function finder(label) {
  const keys = h("kbd", { "aria-hidden": "true" }, FRAME.findKeys);
  const shown = button(FRAME.find, find, { icon: "search", label, kind: label ? "quiet" : "find" });
  shown.setAttribute("aria-keyshortcuts", "Control+K Meta+K");
  if (!label) shown.append(keys);
  return shown;
}

async function find() {
  const { palette } = await import("../parts/palette.js");
  if (!document.querySelector("dialog[open]")) palette();
}

/** Return the way to the documentation, and the version. */
function foot() {
  const { api, guide, version } = document.documentElement.dataset;
  const elsewhere = (/** @type {string} */ address, /** @type {string} */ text) =>
    h("a", { href: address, target: "_blank", rel: "noopener" }, text);
  return h(
    "footer",
    { class: "foot" },
    guide && elsewhere(guide, FRAME.guide),
    api && elsewhere(api, FRAME.api),
    version && h("span", null, FRAME.version({ version })),
    zoned,
  );
}

/** @param {string} path @param {string} text @param {string} shown @param {HTMLElement | false} [more] */
function entry(path, text, shown, more) {
  return h("li", null, link(path, icon(shown), h("span", null, text), more));
}

/** Mark the entry under which a view is. @param {string} path */
function current(path) {
  const anchors = [...list.querySelectorAll("a")];
  // An account of a program has the address of users, and says that it belongs to the list of service accounts.
  const above = page()?.above.querySelector("a")?.hash;
  const named = (/** @type {string | undefined} */ hash) => anchors.find((anchor) => anchor.hash === hash);
  const [nearest] = anchors
    .filter(({ hash }) => `#${path}`.startsWith(`${hash}/`))
    .sort((a, b) => b.hash.length - a.hash.length);
  const best = named(`#${path}`) ?? named(above) ?? nearest;
  for (const anchor of anchors) anchor.removeAttribute("aria-current");
  best?.closest("details")?.setAttribute("open", "");
  best?.setAttribute("aria-current", path === best.hash.slice(1) ? "page" : "true");
  for (const anchor of account.querySelectorAll("a")) {
    if (anchor.hash.slice(1) === path) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
  // A view that is shown anew is no other page: the reader may have opened the menu meanwhile.
  if (path !== marked) account.querySelector("details")?.removeAttribute("open");
  marked = path;
}

/** @param {import("./session.js").Me} me */
function initials(me) {
  const letters = (me.nickName || me.name)
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => [...word][0] ?? "")
    .join("");
  return h("span", { class: "initials", "aria-hidden": "true" }, letters.toUpperCase());
}

function theme() {
  const chosen = document.documentElement.dataset.theme ?? "auto";
  return h(
    "label",
    { class: "theme" },
    FRAME.theme,
    h(
      "select",
      {
        name: "theme",
        value: chosen,
        onchange: (/** @type {Event} */ event) => {
          const { value } = /** @type {HTMLSelectElement} */ (event.target);
          document.documentElement.dataset.theme = value;
          try {
            localStorage.setItem("portcullis.theme", value);
          } catch {
            // A browser that stores nothing forgets the choice.
          }
        },
      },
      Object.entries(FRAME.themes).map(([key, text]) => h("option", { value: key }, text)),
    ),
  );
}

let led = false;

/** @param {KeyboardEvent} event */
function pressed(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.key === "Escape" && document.body.classList.contains("drawn")) toggle(false);
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key === "k") {
    event.preventDefault(); // some browsers go to their own search
    find();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (target.matches?.("input:not([type=checkbox], [type=radio]), textarea, select")) return;
  const after = led;
  led = false;
  if (after && event.key === "h") location.hash = "/";
  else if (after && event.key === "a") location.hash = "/account";
  else if (after && event.key === "n") list.querySelector("a")?.focus();
  else if (event.key === "g") {
    led = true;
    setTimeout(() => {
      led = false;
    }, 1500);
  } else if (event.key === "?") shortcuts();
  else if (event.key === "/") {
    const first = document.querySelector(
      "main [role=search] input, main input[type=search], main [role=search] select",
    );
    if (!(first instanceof HTMLElement)) return;
    first.focus();
  } else return;
  event.preventDefault();
}

async function shortcuts() {
  const { dialog } = await import("../parts/dialog.js");
  dialog(
    SHORTCUTS.title,
    h(
      "dl",
      { class: "definition keys" },
      Object.entries(SHORTCUTS.keys).map(([keys, text]) =>
        h(
          "div",
          null,
          h(
            "dt",
            null,
            keys.split(" ").map((key) => h("kbd", null, key)),
          ),
          h("dd", null, text),
        ),
      ),
    ),
  );
}
