// @ts-check
/** Items of reviews: what each is about, and the decisions about them. */
import { Problem } from "../../client/portcullis.js";
import { actions, badge, badges, button, definition, h, link } from "../../core/dom.js";
import * as queue from "./waiting.js";
import { ASSIGNMENTS } from "../../strings/assignments.js";
import { REVIEWS as T } from "./strings.js";
import { ask, dialog, tell } from "../../parts/dialog.js";
import { codes } from "../../parts/policy.js";
import { agreed, attempt } from "../../parts/preview.js";
import { shownRole } from "../../parts/roles.js";
import { time, timeText } from "../../parts/time.js";
import { enumerated } from "../../strings/common.js";

/** @typedef {import("./waiting.js").Review} Review */
/** @typedef {import("./waiting.js").ReviewItem} ReviewItem */
/** @typedef {import("../../types/api").ReviewVerdict} Verdict */

/** The decisions, each with the icon and the kind of its button. @type {[Verdict, string, string][]} */
const VERDICTS = [
  ["keep", "check", ""],
  ["shorten", "clock", ""],
  ["revoke", "close", "danger"],
];
const OUTCOMES = /** @type {Record<string, string>} */ ({
  revoked: "good",
  refused: "bad",
  shortened: "good",
});

/** Return what is proposed about an item. @param {ReviewItem} item */
export function proposalBadge({ proposal }) {
  return badge(proposal ? T.proposals[proposal] : T.noProposal, proposal === "revoke" ? "warn" : "info");
}

/** Return what is proposed about an item, and why. @param {ReviewItem} item */
export function proposalOf(item) {
  return badges(proposalBadge(item), h("small", null, T.grounds[item.ground] ?? item.ground));
}

/** Return the finding that an item is, in a badge. @param {ReviewItem} item */
export function findingOf({ finding }) {
  return finding && badge(T.findingTexts[finding] ?? finding, "bad");
}

/** Return what was decided about an item, by whom. @param {ReviewItem} item */
export function decisionOf({ decision, reviewerName, until }) {
  if (decision === null) return null;
  const by = reviewerName === null ? T.bySilence : T.byUser({ user: reviewerName });
  const end = until === null ? "" : ` ${ASSIGNMENTS.until.toLowerCase()} ${timeText(until)}`;
  return [T.verdicts[decision], h("small", null, `${end} ${by}`)];
}

/** Return what has become of the assignment. @param {ReviewItem} item */
export function outcomeOf({ outcome }) {
  return outcome && badge(T.outcomes[outcome], OUTCOMES[outcome]);
}

/** Return from when until when somebody has the role, in words. @param {ReviewItem} item */
export function windowOf({ from, assignedUntil }) {
  return T.windowOf({ from: from && timeText(from), until: assignedUntil && timeText(assignedUntil) });
}

/** Return the last day of use, or that none is recorded. @param {ReviewItem} item */
export function lastUsed({ lastUsed: day }) {
  return day ?? T.neverUsed;
}

/**
 * Return all that is known about an item, as it was when the review began.
 * @param {Page} page @param {ReviewItem} item
 */
export function facts(page, item) {
  const { userId, userName, requestId, givenTime, givenBy, opens, statements, decisionIds } = item;
  return definition([
    [T.user, page.linked("user", userId, userName)],
    [T.role, page.linked("role", item.roleId, shownRole(item))],
    [T.why, item.reason ? h("q", null, item.reason) : T.noReason],
    [
      T.source,
      [
        ASSIGNMENTS.sources[item.source] ?? item.source,
        requestId !== null && [" ", link(`/access-requests/${requestId}`, `${T.request} ${requestId}`)],
      ],
    ],
    [T.given, (givenTime || givenBy) && [time(givenTime), givenBy && ` ${T.byUser({ user: givenBy })}`]],
    [T.window, windowOf(item)],
    [T.lastUsed, lastUsed(item)],
    [T.proposal, [proposalOf(item), h("p", { class: "help" }, T.groundTexts[item.ground])]],
    [T.finding, findingOf(item)],
    [T.opens, opens.length ? codes(opens) : T.opensNothing],
    [T.statements, statements.length ? codes(statements) : T.noStatements],
    [T.decision, decisionOf(item)],
    [T.reason, item.decisionReason && h("q", null, item.decisionReason)],
    [T.decisionIds, decisionIds && codes(decisionIds)],
    [T.outcome, item.outcome && badges(outcomeOf(item), item.outcomeReason)],
  ]);
}

/**
 * Show all about an item, with what the caller may decide.
 * @param {Page} page @param {Review} review @param {ReviewItem} item
 */
export function details(page, review, item) {
  const buttons = queue.decides(review, item) ? verdicts(page, review, item, () => box.close()) : [];
  const box = dialog(
    `${item.roleName}: ${item.userName}`,
    review.mayDecide &&
      item.samePerson &&
      h("p", { class: "note warn" }, T.samePerson({ reason: item.samePerson })),
    facts(page, item),
    buttons.length > 0 && actions(buttons),
  );
  box.element.classList.add("wide");
}

/** Return a button that shows all about an item. @param {Page} page @param {Review} review @param {ReviewItem} item */
export function detailsButton(page, review, item) {
  return button(T.more, () => details(page, review, item), {
    "aria-label": T.moreOf({ role: item.roleName, user: item.userName }),
  });
}

/**
 * Return the buttons that decide about one item.
 * @param {Page} page @param {Review} review @param {ReviewItem} item @param {() => void} [begin] Called first.
 */
export function verdicts(page, review, item, begin) {
  return VERDICTS.map(([verdict, icon, kind]) =>
    button(
      T.verdicts[verdict],
      () => {
        begin?.();
        return decide(page, review, [item], verdict);
      },
      { icon, kind, "aria-label": T.act({ verdict: T.verdicts[verdict], user: item.userName }) },
    ),
  );
}

/**
 * Return the buttons that decide about a group, with the number of its items, which `count` writes.
 * @param {(verdict: Verdict) => any} act @param {Verdict | null} proposal
 */
export function groupVerdicts(act, proposal) {
  const made = VERDICTS.map(([verdict, icon, kind]) => ({
    verdict,
    text: document.createTextNode(""),
    element: button("", () => act(verdict), { icon, kind: verdict === proposal ? "primary" : kind }),
  }));
  for (const { element, text } of made) element.append(text);
  return {
    elements: made.map(({ element }) => element),
    count: (/** @type {number} */ n) => {
      for (const { verdict, text, element } of made) {
        text.data = T.acts({ verdict: T.verdicts[verdict], n });
        element.disabled = n === 0;
      }
    },
  };
}

/**
 * Ask for the reason, and decide about items of one role: about all of them or none. A refusal names the users.
 * @param {Page} page @param {Review} review @param {ReviewItem[]} items @param {Verdict} verdict
 */
export function decide(page, review, items, verdict) {
  const [{ roleName: role }] = items;
  const word = T.verdicts[verdict];
  const danger = verdict === "revoke";
  const title =
    items.length === 1
      ? T.decisionTitle({ verdict: word, role, user: items[0].userName })
      : T.decisionsTitle({ verdict: word, role, n: items.length });
  return attempt(title, async () => {
    const made = await ask({
      title,
      text: h(
        "div",
        { class: "body" },
        h("p", null, review.apply === "at_once" ? T.atOnce[verdict] : T.atEnd),
        items.length > 1 && h("p", null, enumerated(items.map(({ userName }) => userName))),
      ),
      confirm: word,
      danger,
      extra: [
        ...(verdict === "shorten"
          ? [{ name: "until", label: T.until, type: "datetime", required: true, help: T.untilHelp }]
          : []),
        {
          name: "reason",
          label: T.reason,
          type: "textarea",
          required: true,
          help: T.reasonHelp,
          attributes: { maxlength: 500, rows: "2" },
        },
      ],
      act: async (values, { box }) => {
        const write = (/** @type {boolean} */ dryRun) =>
          decided(page, review, items, { decision: verdict, ...values }, dryRun);
        if (review.apply === "at_end" || verdict === "keep") await write(false);
        else await agreed({ box, title, confirm: word, danger, write });
      },
    });
    if (!made) return;
    tell(T.done({ verdict, n: items.length }));
    queue.read().catch(() => {}); // the list of them says what is wrong
    await page.reload();
  });
}

/**
 * Send a decision about items, or its dry run. What is refused of some of them is said of their users.
 * @param {Page} page @param {Review} review @param {ReviewItem[]} items @param {any} body @param {boolean} dryRun
 */
async function decided(page, { id }, items, body, dryRun) {
  if (items.length === 1) {
    const path = { id, itemId: items[0].id };
    return page.call("POST", "/api/review/{id}/item/{itemId}/decision", { path, body, dryRun });
  }
  try {
    return await page.call("POST", "/api/review/{id}/decision", {
      path: { id },
      body: { ...body, itemIds: items.map((item) => item.id) },
      dryRun,
    });
  } catch (problem) {
    if (!(problem instanceof Problem) || !problem.violations.some(({ row }) => row)) throw problem;
    const errors = problem.violations.map(({ row, field, message }) =>
      row ? { field: items[row - 1].userName, message } : { field, message },
    );
    throw new Problem(problem.status, { ...problem.document, errors });
  }
}
