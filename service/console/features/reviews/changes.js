// @ts-check
/** What has changed since the caller's last sign-off, or since a revision: in one place. */
import { Problem } from "../../client/portcullis.js";
import { badge, button, card, definition, empty, h, link, pieces } from "../../core/dom.js";
import { form } from "../../parts/form.js";
import { lines } from "../../parts/lines.js";
import { answering, asking } from "../../parts/policy.js";
import { table } from "../../parts/rows.js";
import { time } from "../../parts/time.js";
import { trouble } from "../../parts/trouble.js";
import { CHANGES as T } from "./strings.js";
import { POLICY } from "../../strings/policy.js";

const SIZE = 100;
const KINDS = /** @type {Record<string, string>} */ ({ given: "good", taken: "bad", ended: "bad" });

/** @typedef {import("../../core/page.js").Page} Page */
/** @typedef {import("../../types/api").PolicyChanges} Changes */

/** @param {Page} page */
export async function show(page) {
  const since = Number(page.query.get("since")) || undefined;
  page.crumbs(["/policy/revisions", POLICY.tab.revisions]);
  page.title(T.title);
  const question = form({
    fields: [
      {
        name: "since",
        label: T.since,
        type: "number",
        value: since ?? null,
        help: T.sinceHelp,
        attributes: { min: 1 },
      },
    ],
    submit: T.show,
    quiet: true,
    save: (values) => asking(page, values),
  });
  question.classList.add("question");
  const answer = h("div", { class: "body" });
  page.put(h("p", null, T.text), card("", question), answer);
  const read = async (/** @type {number} */ number) =>
    (await page.call("GET", "/api/policy/changes", { query: { since, page: number, size: SIZE } })).data;
  answering(page, question, answer, async () => {
    try {
      return shown(page, await read(1), read);
    } catch (problem) {
      if (!since && problem instanceof Problem && problem.status === 422) return empty(T.noSignOff);
      throw problem;
    }
  });
}

/**
 * Return the changes; a button reads further ones of each kind.
 * @param {Page} page @param {Changes} first @param {(number: number) => Promise<Changes>} read
 */
function shown(page, first, read) {
  const all = [first];
  const place = h("div", { class: "body" });
  const put = () => {
    const of = (/** @type {keyof Changes} */ name) =>
      /** @type {any} */ (all.flatMap((each) => /** @type {any} */ (each[name])));
    const { truncated } = all[all.length - 1];
    place.replaceChildren(
      ...pieces([
        card(T.lines, listed(of("addedLines"), of("removedLines"), T.noLines)),
        card(T.demands, listed(of("addedDemands"), of("removedDemands"), T.noDemands)),
        card(T.grants, grants(of("grants"))),
        card(T.assignments, assignments(of("assignments"))),
        truncated && h("div", { class: "actions" }, button(T.more, next)),
      ]),
    );
  };
  const next = async () => {
    try {
      all.push(await read(all.length + 1));
      put();
    } catch (problem) {
      place.append(trouble(problem));
    }
  };
  put();
  const { signOff, since, to, sinceTime } = first;
  const revision = (/** @type {number} */ n) =>
    page.may("GET /api/policy/revisions/{revision}") ? link(`/policy/revisions/${n}`, String(n)) : String(n);
  return [
    card(
      T.span(since, to),
      definition([
        [T.signedOff, signOff && [signOff.title, " (", time(signOff.createTime), ")"]],
        [T.since, revision(since)],
        [T.counts, time(sinceTime)],
      ]),
    ),
    place,
  ];
}

/** @param {string[]} addedLines @param {string[]} removedLines @param {string} nothing */
function listed(addedLines, removedLines, nothing) {
  const known = { addedLines, removedLines, truncated: false };
  return lines(async () => known, known, nothing);
}

/** @param {Changes["grants"]} given */
function grants(given) {
  if (given.length === 0) return empty(T.noGrants);
  return table(
    T.grants,
    [T.time, T.change, T.role, T.code],
    given.map(({ at, change, roleCode, code }) => [
      time(at),
      badge(T.grantChanges[change], KINDS[change]),
      roleCode,
      h("code", null, code),
    ]),
  );
}

/** @param {Changes["assignments"]} changed */
function assignments(changed) {
  if (changed.length === 0) return empty(T.noAssignments);
  return table(
    T.assignments,
    [T.time, T.change, T.user, T.role, T.until, T.reason],
    changed.map(({ at, change, userName, roleCode, until, reason }) => [
      time(at),
      badge(T.assignmentChanges[change], KINDS[change]),
      userName,
      roleCode,
      time(until),
      reason,
    ]),
  );
}
