// @ts-check
/** One review: how far it is, what waits for the caller, all items, and what nobody may decide. */
import { button, card, definition, empty, h, link, linkButton } from "../../core/dom.js";
import * as queue from "./waiting.js";
import { PATH } from "./waiting.js";
import { ask, tell } from "../../parts/dialog.js";
import { attempt } from "../../parts/preview.js";
import { record } from "../../parts/record.js";
import { groups } from "./review-groups.js";
import { decisionOf, detailsButton, findingOf, lastUsed, outcomeOf, proposalOf } from "./review-items.js";
import { reviewersText, scopeText, stateOf } from "./described.js";
import { allRoles, roleNames, roleText, shownRole } from "../../parts/roles.js";
import { listing } from "../../parts/table.js";
import { coming, time } from "../../parts/time.js";
import { save } from "../../parts/transfer.js";
import { share } from "../../pictures/share.js";
import { REVIEWS as T } from "./strings.js";

const ONE = "/api/review/{id}";
/** Milliseconds between two looks at a review that is closing. */
const PAUSE = 2000;

/** @typedef {import("./waiting.js").Review} Review */

/** @param {Page} page */
export async function show(page) {
  const path = { id: page.params.id };
  const { data: review } = await page.call("GET", ONE, { path });
  const base = `${PATH}/${review.id}`;
  const waiting = review.waiting ?? 0;
  const [scope, reviewers] = await Promise.all([scopeText(page, review), reviewersText(page, review)]);
  const closes =
    review.state === "open" &&
    review.authorId === page.me.id &&
    page.may(`POST ${ONE}/close`) &&
    button(T.close, () => close(page, review), { icon: "check" });
  await record(page, {
    base,
    crumbs: [[PATH, T.title]],
    title: review.title,
    state: stateOf(review),
    primary:
      page.may(`GET ${ONE}/evidence`) &&
      button(T.evidence, () => attempt(T.evidenceTitle, () => evidence(page, review)), { icon: "download" }),
    tabs: [
      { path: "", text: T.tabs.overview, show: () => overview(page, review, base, waiting) },
      { path: "mine", text: T.tabs.mine({ n: waiting }), show: () => groups(page, review) },
      { path: "items", text: T.tabs.items, show: () => items(page, review) },
      {
        path: "findings",
        text: T.tabs.findings({ n: review.progress.findings }),
        show: () => findings(page, review),
      },
    ],
    aside: card(
      T.details,
      definition([
        [T.scope, scope],
        [T.reviewers, reviewers],
        [T.deadline, review.state === "open" ? coming(review.deadline) : time(review.deadline)],
        [T.onSilence, T.silences[review.onSilence]],
        [T.apply, T.applies[review.apply]],
        [T.author, review.authorName],
        [T.created, time(review.createTime)],
        [
          T.revision,
          page.may("GET /api/policy/revisions/{revision}") && review.revision > 0
            ? link(`/policy/revisions/${review.revision}`, T.revisionOf({ n: review.revision }))
            : T.revisionOf({ n: review.revision }),
        ],
        [
          T.closed,
          review.closeTime && [
            time(review.closeTime),
            ` ${review.closedBy === null ? T.byDeadline : T.byUser({ user: review.closedBy })}`,
          ],
        ],
        [T.settled, time(review.endTime)],
      ]),
    ),
  });
  if (closes) page.actions.append(closes);
  if (review.state === "closing") follow(page, review);
}

/** Show the review anew while it is closing. @param {Page} page @param {Review} review */
function follow(page, { id, progress }) {
  const timer = setInterval(async () => {
    const { data } = await page.call("GET", ONE, { path: { id } });
    if (data.state === "closing" && data.progress.settled === progress.settled) return;
    await page.reload();
  }, PAUSE);
  page.signal.addEventListener("abort", () => clearInterval(timer));
}

/** @param {Page} page @param {Review} review @param {string} base @param {number} waiting */
function overview(page, { state, progress }, base, waiting) {
  return [
    state === "closing" &&
      h("p", { class: "note warn" }, T.settling({ some: progress.settled, all: progress.items })),
    card(
      T.progress,
      share(T.progress, [
        { text: T.decided, count: progress.decided, kind: "good" },
        { text: T.undecided, count: progress.items - progress.decided, kind: "info" },
      ]),
    ),
    state === "open" &&
      page.may(queue.DECIDES) &&
      card(
        T.forMe,
        h("p", null, waiting ? (waiting === 1 ? T.waitingOne : T.waiting({ n: waiting })) : T.nothingWaits),
        waiting > 0 && linkButton(`${base}/mine`, T.decideNow, { kind: "primary" }),
      ),
    progress.findings > 0 &&
      card(
        T.finding,
        h("p", null, T.findingsOf({ n: progress.findings })),
        linkButton(`${base}/findings`, T.showFindings),
      ),
  ];
}

/** Return all items, with filters. @param {Page} page @param {Review} review */
async function items(page, review) {
  const roles = page.may("GET /api/role/list") ? await allRoles(page) : [];
  return listing(page, {
    caption: T.itemsCaption,
    filters: [
      { name: "decided", label: T.decidedFilter, type: "select", options: Object.entries(T.yesNo) },
      { name: "ground", label: T.ground, type: "select", options: Object.entries(T.grounds) },
      ...(roles.length
        ? [
            {
              name: "roleId",
              label: T.role,
              type: "select",
              options: roles.map(
                (role) => /** @type {[string, string]} */ ([String(role.id), roleText(role)]),
              ),
            },
          ]
        : []),
    ],
    ...shown(page, review),
    load: (query) => load(page, review, query),
    empty: empty(T.noItems),
  });
}

/** Return the items that are findings. @param {Page} page @param {Review} review */
function findings(page, review) {
  const finding = Object.keys(T.findingTexts);
  return [
    h("p", null, T.findingsText),
    listing(page, {
      caption: T.findingsCaption,
      ...shown(page, review),
      load: (query) => load(page, review, { ...query, finding }),
      empty: empty(T.noFindings),
    }),
  ];
}

/** @param {Page} page @param {Review} review @param {Record<string, any>} query */
async function load(page, { id }, query) {
  const [{ data }, roles] = await Promise.all([
    page.call("GET", "/api/review/{id}/item/list", { path: { id }, query }),
    roleNames(page),
  ]);
  return { ...data, items: queue.named(data.items, roles) };
}

/** Return the columns and buttons of items. @param {Page} page @param {Review} review */
function shown(page, review) {
  return {
    columns: /** @type {import("../../parts/table.js").Column[]} */ ([
      { title: T.user, cell: ({ userName }) => userName, sort: "userName" },
      { title: T.role, cell: shownRole, sort: "roleCode" },
      { title: T.proposal, cell: proposalOf, sort: "ground" },
      { title: T.lastUsed, cell: lastUsed, sort: "lastUsed" },
      { title: T.finding, cell: findingOf },
      { title: T.decision, cell: decisionOf },
      { title: T.outcome, cell: outcomeOf },
    ]),
    buttons: (/** @type {any} */ item) => detailsButton(page, review, item),
  };
}

/** @param {Page} page @param {Review} review */
async function close(page, { id, title, onSilence, progress }) {
  const closed = await ask({
    title: T.closeTitle({ title }),
    text: T.closeText({ n: progress.items - progress.decided, revokes: onSilence === "revoke" }),
    confirm: T.close,
    danger: true,
    act: async () => {
      const { data } = await page.call("POST", `${ONE}/close`, { path: { id } });
      tell((data.state === "closed" ? T.closedNow : T.closing)({ title }));
    },
  });
  if (!closed) return;
  queue.read().catch(() => {}); // the list of them says what is wrong
  await page.reload();
}

/** @param {Page} page @param {Review} review */
async function evidence(page, { id }) {
  const { data } = await page.call("GET", `${ONE}/evidence`, { path: { id }, raw: true });
  save(await data.blob(), `review-${id}.zip`);
}
