// @ts-check
/**
 * Items that wait for the caller, in groups of one role and one ground. A decision about a group is made about those
 * that the reader has seen: each counts once the end of its row has been in view for a moment.
 */
import { actions, badge, badges, card, empty, h } from "../../core/dom.js";
import * as queue from "./waiting.js";
import { ASSIGNMENTS } from "../../strings/assignments.js";
import { REVIEWS as T } from "./strings.js";
import { codes } from "../../parts/policy.js";
import { folded } from "../../parts/preview.js";
import { roleNames, roleText } from "../../parts/roles.js";
import {
  decide,
  detailsButton,
  groupVerdicts,
  lastUsed,
  proposalBadge,
  verdicts,
  windowOf,
} from "./review-items.js";

/** @typedef {import("./waiting.js").Review} Review */
/** @typedef {import("./waiting.js").ReviewItem} ReviewItem */

const ITEMS = "/api/review/{id}/item/list";
/** The most items that are shown at once. */
const MOST = 1000;
const SIZE = 200;
/** Milliseconds in view after which a row has been seen. */
const MOMENT = 300;

/** What the reader has done with what is not decided yet, by the ids of items and the names of groups. */
const seen = /** @type {Set<number>} */ (new Set());
const out = /** @type {Set<number>} */ (new Set());
const opened = /** @type {Set<string>} */ (new Set());

/**
 * Return the items that wait for the caller, in groups.
 * @param {Page} page @param {Review} review @param {{brief?: boolean}} [options] `brief`: without the explanation.
 */
export async function groups(page, review, { brief = false } = {}) {
  if (review.state !== "open") return empty(T.over);
  if (!review.mayDecide) return empty(T.notReviewer);
  const { items, left, others } = await undecided(page, review);
  const [reason, silence] = [others[0]?.samePerson, T.silences[review.onSilence]];
  const forOthers = reason && T.forOthers({ n: others.length, reason, silence });
  if (items.length === 0) return empty(forOthers || T.nothingForYou);
  const grouped = [
    ...Map.groupBy(items, ({ roleCode, ground, finding }) => `${roleCode} ${ground} ${finding}`),
  ];
  return [
    !brief && h("p", null, T.mineText),
    grouped.map(([name, alike]) =>
      group(page, review, {
        name: `${review.id} ${name}`,
        items: alike,
        open: grouped.length === 1 || alike.length === 1,
      }),
    ),
    left > 0 && h("p", { class: "help" }, T.moreFollow({ n: left })),
    forOthers && h("p", { class: "help" }, forOthers),
  ];
}

/**
 * Read the first items that the caller may decide about and nobody has, by role; `left` is how many more there are,
 * and `others` are those that only another person may decide about.
 * @param {Page} page @param {Review} review
 */
async function undecided(page, review) {
  const roles = await roleNames(page);
  /** @type {ReviewItem[]} */ const all = [];
  let total = 1;
  let read = 0;
  for (let number = 1; read < Math.min(total, MOST); number += 1) {
    const { data } = await page.call("GET", ITEMS, {
      path: { id: review.id },
      query: { decided: false, sort: "roleCode", size: SIZE, page: number },
    });
    if (data.items.length === 0) break;
    total = data.total;
    read += data.items.length;
    all.push(...queue.named(data.items, roles));
  }
  const items = all.filter((item) => queue.decides(review, item));
  const others = all.filter(({ samePerson, outcome }) => samePerson && outcome === null);
  return { items, left: total - read, others };
}

/**
 * Return a group.
 * @param {Page} page @param {Review} review @param {{name: string, items: ReviewItem[], open: boolean}} shown
 */
function group(page, review, { name, items, open }) {
  const [first] = items;
  // Where only those are left that the last decision has excluded, none is excluded from the next one.
  if (items.every(({ id }) => out.has(id))) for (const { id } of items) out.delete(id);
  const count = h("span", { role: "status" });
  const chosen = () => items.filter(({ id }) => seen.has(id) && !out.has(id));
  const acts = groupVerdicts((verdict) => decide(page, review, chosen(), verdict), first.proposal);
  const update = () => {
    const looked = items.filter(({ id }) => seen.has(id)).length;
    const left = items.filter(({ id }) => out.has(id)).length;
    count.textContent = looked === 0 ? T.lookFirst : T.seen({ seen: looked, all: items.length, out: left });
    acts.count(chosen().length);
  };
  const watching = watch(page, update);
  const list = h(
    "details",
    {
      open: open || opened.has(name),
      ontoggle: () => {
        opened[list.open ? "add" : "delete"](name);
      },
    },
    h("summary", null, T.open({ n: items.length })),
    h(
      "ul",
      { class: "desk people" },
      items.map((item) => row(page, review, item, { update, watching, alone: items.length === 1 })),
    ),
  );
  update();
  return card(
    T.groupOf({ role: roleText(first), ground: T.grounds[first.ground] ?? first.ground }),
    badges(
      badge(T.group({ n: items.length })),
      proposalBadge(first),
      first.finding && badge(T.findingTexts[first.finding], "bad"),
    ),
    h("p", { class: "help" }, T.groundTexts[first.ground]),
    folded(false, h("summary", null, T.opensCodes({ n: first.opens.length })), () => [
      h("div", { class: "body" }, codes(first.opens)),
    ]),
    first.statements.length > 0 && h("p", null, `${T.statements}: `, codes(first.statements)),
    list,
    items.length > 1 && actions(acts.elements, count),
  );
}

/**
 * Return the row of an item.
 * @param {Page} page @param {Review} review @param {ReviewItem} item
 * @param {{update: () => void, watching: IntersectionObserver, alone: boolean}} shown
 */
function row(page, review, item, { update, watching, alone }) {
  const source = ASSIGNMENTS.sources[item.source] ?? item.source;
  const acts = h(
    "span",
    { class: "actions", "data-item": item.id },
    detailsButton(page, review, item),
    verdicts(page, review, item),
  );
  watching.observe(acts);
  return h(
    "li",
    null,
    !alone &&
      h("input", {
        type: "checkbox",
        "aria-label": T.inGroup({ user: item.userName }),
        checked: !out.has(item.id),
        onchange: (/** @type {Event} */ { target }) => {
          out[/** @type {HTMLInputElement} */ (target).checked ? "delete" : "add"](item.id);
          update();
        },
      }),
    h(
      "div",
      null,
      h("strong", null, item.userName),
      h(
        "small",
        null,
        `${item.reason ?? T.noReason} (${source}) · ${windowOf(item)} · ${T.lastUsed}: ${lastUsed(item)}`,
      ),
    ),
    acts,
  );
}

/** Return what notes which rows have been in view for a moment. @param {Page} page @param {() => void} update */
function watch(page, update) {
  const timers = /** @type {Map<Element, number>} */ (new Map());
  const watching = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      clearTimeout(timers.get(target));
      if (!isIntersecting) continue;
      const look = () => {
        seen.add(Number(/** @type {HTMLElement} */ (target).dataset.item));
        watching.unobserve(target);
        update();
      };
      timers.set(target, setTimeout(look, MOMENT));
    }
  });
  page.signal.addEventListener("abort", () => {
    watching.disconnect();
    for (const timer of timers.values()) clearTimeout(timer);
  });
  return watching;
}
