// @ts-check
/**
 * What has changed about who may do what: by day, with who did it, what was gained and lost, and the policy lines.
 * Callers without the audit log see the revisions alone.
 */
import { Problem } from "../client/portcullis.js";
import { button, card, empty, h, link, pieces } from "../core/dom.js";
import { between, dates, instantOf, wallTime } from "../core/locale.js";
import { numbered } from "../core/texts.js";
import { form } from "../parts/form.js";
import { ENTRIES, FIRST, access, lines } from "../parts/lines.js";
import { inWords, withChanges } from "../parts/logs.js";
import { after, answering, asking } from "../parts/policy.js";
import { revertButton } from "../parts/revert.js";
import { roleNames } from "../parts/roles.js";
import { withoutReason } from "../parts/sentence.js";
import { time } from "../parts/time.js";
import { trouble } from "../parts/trouble.js";
import { CHANGES as T } from "../strings/changes.js";
import { FRAME } from "../strings/frame.js";
import { POLICY } from "../strings/policy.js";

const LOG = "/api/operation-log/list";
const REVISIONS = "/api/policy/revisions";
const DIFF = "/api/policy/diff";
const TRANSITIONS = "/api/assignment/transition/list";
const SIZE = 100;
/** The most values that are shown of a change. */
const VALUES = 8;
/** The fields of records that hold lists of what is given. */
const GIVEN = new Set(["roles", "permissions", "resources", "scopes", "secondFactors"]);

/** @typedef {import("../types/api").ListedRevision} Revision */
/** @typedef {import("../types/api").AssignmentTransition & {role: string}} Transition */
/** @typedef {{from: string, to?: string, text?: string, revisions?: [number, number]}} Span */

/** @param {Page} page */
export async function show(page) {
  page.title(T.title);
  const { query, path } = page;
  const between = query.has("from") || path !== "/changes" || query.get("since") === "revisions";
  const since = between ? "revisions" : (query.get("since") ?? "1");
  const choice = (/** @type {string} */ value, /** @type {string} */ text) => {
    const anchor = link(`/changes?since=${value}`, text);
    if (value === since) anchor.setAttribute("aria-current", "page");
    return anchor;
  };
  const body = h("div", { class: "body" });
  const shown = question(page);
  page.put(
    page.may(`GET ${LOG}`) &&
      h(
        "nav",
        { class: "tabs", "aria-label": T.title },
        numbered(T.sinces).map(([days, text]) => choice(String(days), text)),
        page.may("GET /api/policy/changes") && choice("sign-off", T.signOff),
        page.may(`GET ${DIFF}`) && choice("revisions", T.revisions),
      ),
    between && card("", shown),
    body,
  );
  if (between && !query.has("from")) return;
  answering(page, shown, body, async () => {
    const span = between ? await betweenRevisions(page) : await sinceThen(page, since);
    return span ? await days(page, span) : empty(T.noSignOff);
  });
}

/** Return the form that asks for two revisions. @param {Page} page */
function question(page) {
  const value = (/** @type {string} */ name) => Number(page.query.get(name)) || null;
  const attributes = { min: 1 };
  const made = form({
    fields: [
      { name: "from", label: T.from, type: "number", required: true, value: value("from"), attributes },
      { name: "to", label: T.to, type: "number", value: value("to"), help: T.toHelp, attributes },
    ],
    submit: T.show,
    quiet: true,
    save: ({ from, to }) => {
      if (to && to <= from) throw new Problem(422, { errors: [{ field: "to", message: T.later }] });
      return asking(page, { from, to });
    },
  });
  made.classList.add("question");
  return made;
}

/** Return the span after a revision, to another one or to the newest. @param {Page} page @returns {Promise<Span>} */
async function betweenRevisions(page) {
  const newest = (await page.call("GET", REVISIONS, { query: { size: 1 } })).data.items[0]?.revision ?? 1;
  const [from, to] = [Number(page.query.get("from")), Number(page.query.get("to")) || newest];
  const ends = Promise.all(
    [from, to].map(async (revision) => {
      const path = /** @type {any} */ ({ revision });
      const { data } = await page.call("GET", `${REVISIONS}/{revision}`, { path, query: { size: 1 } });
      return new Date(Date.parse(data.createTime) + 1).toISOString(); // times have microseconds
    }),
  );
  ends.catch(() => {}); // the comparison says which of them is none
  await page.call("GET", DIFF, { query: { from, to, size: 1 } });
  const [begin, end] = await ends;
  return { from: begin, to: end, text: T.between({ from, to }), revisions: [from, to] };
}

/**
 * Return the span since so many days, or since the caller's sign-off; null if there is none.
 * @param {Page} page @param {string} since @returns {Promise<Span | null>}
 */
async function sinceThen(page, since) {
  if (since !== "sign-off") {
    const then = new Date(Date.now() - (Number(since) || 1) * 86_400_000);
    return { from: instantOf(`${wallTime(then).slice(0, 10)}T00:00`).toISOString() };
  }
  try {
    const { data } = await page.call("GET", "/api/policy/changes", { query: { size: 1 } });
    const { signOff, sinceTime: from, since: first, to } = data;
    const text = signOff ? T.signedOff({ title: signOff.title, revision: first }) : undefined;
    return { from, text, ...(to > first ? { revisions: [first, to] } : {}) };
  } catch (problem) {
    if (problem instanceof Problem && problem.status === 422) return null;
    throw problem;
  }
}

/** Return the changes of a span by day, the latest first. @param {Page} page @param {Span} span */
async function days(page, { text, revisions: range, ...span }) {
  const place = h("div", { class: "body" });
  const [first, revisions] = await Promise.all([
    Promise.all([entries(page, span, 1), transitions(page, span, 1)]),
    revisionsOf(page, span),
  ]);
  /** @type {any[]} */ const known = [];
  /** @type {Transition[]} */ const alone = [];
  const put = (/** @type {typeof first} */ [log, scheduled], /** @type {number} */ number) => {
    known.push(...log.items);
    alone.push(...scheduled.items);
    const more = [log, scheduled].map(({ total }) => number * SIZE < total);
    // What is older than the last item of a list with more could be followed by some of that list.
    const ends = [known.at(-1)?.createTime, alone.at(-1)?.time].filter((end, each) => end && more[each]);
    const shown = joined(known, revisions, alone).filter(({ at }) =>
      ends.every((end) => Date.parse(at) >= Date.parse(end)),
    );
    const byDay = Map.groupBy(shown, ({ at }) => dates({ dateStyle: "full" }).format(new Date(at)));
    const next = async () => {
      const pages = await Promise.all([
        more[0] ? entries(page, span, number + 1) : { ...log, items: [] },
        more[1] ? transitions(page, span, number + 1) : { ...scheduled, items: [] },
      ]);
      put(pages, number + 1);
    };
    place.replaceChildren(
      ...[...byDay].map(([day, changes]) =>
        card(day, h("ul", { class: "desk" }, ...changes.map((change) => row(page, change)))),
      ),
      ...(byDay.size === 0 ? [empty(T.none)] : []),
      ...(more.some(Boolean) ? [button(T.more, next)] : []),
    );
  };
  put(first, 1);
  const lines = range && linesBetween(page, range, T.lines(...range));
  // What stands above the days is complete first: nothing moves.
  if (page.query.get("access") === "true") await lines?.unfold();
  return [text && h("p", null, text), lines && card("", lines.shown), place];
}

/**
 * Read a page of entries, for callers who may.
 * @param {Page} page @param {Span} span @param {number} number @returns {Promise<{items: any[], total: number}>}
 */
async function entries(page, span, number) {
  if (!page.may(`GET ${LOG}`)) return { items: [], total: 0 };
  const query = { rights: true, status: ["2xx"], dryRun: false, size: SIZE, page: number, ...span };
  const { data } = await page.call("GET", LOG, { query });
  return { ...(await withChanges(page, data)), total: data.total ?? 0 };
}

/**
 * Read a page of the assignments that began or ended by themselves, for callers who may.
 * @param {Page} page @param {Span} span @param {number} number @returns {Promise<{items: Transition[], total: number}>}
 */
async function transitions(page, span, number) {
  if (!page.may(`GET ${TRANSITIONS}`)) return { items: [], total: 0 };
  const [{ data }, roles] = await Promise.all([
    page.call("GET", TRANSITIONS, { query: { size: SIZE, page: number, ...span } }),
    roleNames(page),
  ]);
  return { ...data, items: data.items.map((each) => ({ ...each, role: roles.name(each.roleCode) })) };
}

/**
 * Read the revisions of a span, for callers who may.
 * @param {Page} page @param {Span} span @returns {Promise<Revision[]>}
 */
async function revisionsOf(page, span) {
  if (!page.may(`GET ${REVISIONS}`)) return [];
  return (await page.call("GET", REVISIONS, { query: { ...span, size: 200 } })).data.items;
}

/**
 * Return entries with the revision that each has published, the other revisions, and what came by itself, the latest
 * first.
 * @param {any[]} known @param {Revision[]} revisions @param {Transition[]} alone
 * @returns {{at: string, entry?: any, revision?: Revision, transition?: Transition}[]}
 */
function joined(known, revisions, alone) {
  const byRequest = new Map(revisions.map((revision) => [revision.requestId, revision]));
  const logged = known.map((entry) => ({
    at: entry.createTime,
    entry,
    revision: byRequest.get(entry.requestId),
  }));
  const published = new Set(logged.map(({ revision }) => revision));
  const others = revisions.filter((revision) => !published.has(revision));
  return [
    ...logged,
    ...others.map((revision) => ({ at: revision.createTime, revision })),
    ...alone.map((transition) => ({ at: transition.time, transition })),
  ].toSorted((first, second) => Date.parse(second.at) - Date.parse(first.at));
}

/** @param {Page} page @param {ReturnType<typeof joined>[number]} change */
function row(page, { at, entry, revision, transition }) {
  if (transition) return byItself(page, transition);
  const address = entry && page.may("GET /api/operation-log/{id}") ? `/logs/operations/${entry.id}` : null;
  const number = revision?.revision ?? 1;
  return line(at, address, entry && revertButton(page, entry), [
    entry ? inWords(page, entry) : causeOf(revision),
    entry && difference(entry),
    revision &&
      number > 1 &&
      page.may(`GET ${DIFF}`) &&
      linesBetween(page, [number - 1, number], T.revision(number, revision.added, revision.removed)).shown,
  ]);
}

/**
 * @param {string} at @param {string | null} address @param {import("../core/dom.js").Child} act
 * @param {import("../core/dom.js").Child} what
 */
function line(at, address, act, what) {
  const then = time(at, { clock: true });
  return h("li", null, address ? link(address, then) : then, h("div", null, what), act);
}

/** @param {Page} page @param {Transition} transition */
function byItself(page, { time: at, kind, userId, userName: user, role, continued, reason }) {
  const started = kind === "started";
  const clock = time(at, { clock: true })?.textContent ?? "";
  const text = (started ? T.started : T.expired)({ role, user, at: clock });
  const given = [{ target: "", field: "roles", [started ? "after" : "before"]: [role] }];
  return line(at, page.may("GET /api/user/{id}/roles") ? `/users/${userId}/roles` : null, null, [
    h("span", { class: "sentence", title: text }, text),
    reason && h("small", null, h("q", null, reason)),
    continued ? h("small", null, T.continued) : difference({ changes: given }),
  ]);
}

/** Return who has published a revision and why, as the list of revisions has it. @param {any} revision */
function causeOf({ userName, cause, causeParams }) {
  return T.publishedBy({ by: userName ?? T.service, cause: causeParams.act?.message ?? cause });
}

/**
 * Return what was gained and lost by the changes of an entry, as far as they are known; what several got alike, once.
 * @param {{changes?: import("../parts/sentence.js").Change[], changeCount?: number}} entry
 */
function difference({ changes = [], changeCount = 0 }) {
  const given = changes.filter(({ field }) => GIVEN.has(field));
  const list = (
    /** @type {"ins" | "del"} */ tag,
    /** @type {string} */ title,
    /** @type {"before" | "after"} */ side,
    /** @type {"removed" | "added"} */ count,
  ) => {
    let left = given.reduce((sum, change) => sum + (change[count] ?? change[side]?.length ?? 0), 0);
    if (left === 0) return false;
    const all = given.flatMap(({ field, [side]: texts }) =>
      (texts ?? []).map((/** @type {string} */ text) => ({ field, value: withoutReason(text) })),
    );
    const shown = [...Map.groupBy(all, ({ value }) => value)].slice(0, VALUES);
    const values = shown.map(([value, alike], place) => {
      const [{ field }, n] = [alike[0], alike.length];
      left -= n;
      return [place > 0 && between(), h(tag, null, n > 1 ? T.alike({ field, value, n }) : value)];
    });
    const more = left > 0 ? ` ${T.andMore({ n: left })}` : changeCount > changes.length && " …";
    return h("small", null, `${title}: `, values, more);
  };
  return h(
    "span",
    { class: "delta" },
    list("ins", T.gained, "after", "added"),
    list("del", T.lost, "before", "removed"),
  );
}

/**
 * Return the lines that differ between two revisions, read once they are unfolded; `unfold` reads them at once, and
 * who gains and loses by them.
 * @param {Page} page @param {[number, number]} range @param {string} summary
 */
function linesBetween(page, [from, to], summary) {
  const read = async (/** @type {any} */ part) =>
    (await page.call("GET", DIFF, { query: { from, to, ...part } })).data;
  const place = h("div", { "aria-live": "polite" });
  const effect = async (/** @type {any} */ part) =>
    /** @type {any} */ ((await read({ size: 1, ...part, access: true })).access);
  const impact = async (load = effect) => place.replaceChildren(await access(load));
  const content = h("div", { class: "body" });
  const load = async (withImpact = false) => {
    content.replaceChildren(h("p", { class: "loading" }, FRAME.loading));
    try {
      const first = await read(withImpact ? { ...FIRST, accessSize: ENTRIES, access: true } : FIRST);
      content.replaceChildren(...pieces([lines(read, first, POLICY.sameLines), place]));
      place.replaceChildren(button(POLICY.showImpact, () => impact()));
      if (first.access) await impact(after(first.access, effect));
    } catch (problem) {
      if (!page.signal.aborted) content.replaceChildren(trouble(problem, () => load(withImpact)));
    }
  };
  const ontoggle = () => content.childElementCount === 0 && load();
  const shown = h("details", { ontoggle }, h("summary", null, summary), content);
  const unfold = async () => {
    await load(true);
    shown.setAttribute("open", "");
  };
  return { shown, unfold };
}
