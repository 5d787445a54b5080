// @ts-check
/** What happened to rights lately, and what is refused most often; each with its explanation. */
import { actions, badge, h, link, linkButton } from "../core/dom.js";
import { HOME as T } from "../strings/home.js";
import { OPERATIONS } from "../strings/operations.js";
import { rows } from "./block.js";
import { explainAddress, inWords, withChanges } from "./logs.js";
import { requestLine } from "./request-line.js";
import { revertButton } from "./revert.js";
import { plain, sentence } from "./sentence.js";
import { time } from "./time.js";

/** @typedef {import("../types/api").OperationEntry} Entry */

const LOG = "/api/operation-log/list";
const SHOWN = 6;
/** The refusals that are counted: the latest, and of so many days. */
const COUNTED = 200;
const DAYS = 7;

/** Read and return the latest changes of who may do what. @param {Page} page */
export async function latestChanges(page) {
  const { data } = await page.call("GET", LOG, { query: { rights: true, status: ["2xx"], size: SHOWN } });
  if (data.items.length === 0) return h("p", null, T.noChanges);
  const { items } = await withChanges(page, data);
  return [
    rows(
      items.map((entry) => ({
        text: inWords(page, entry),
        help: timeOf(page, entry),
        act: actions(explain(page, entry, plain(sentence(entry))), revertButton(page, entry)),
      })),
    ),
    h("p", { class: "help" }, link("/changes?since=30", T.allChanges)),
  ];
}

/** Read and return who is refused what most often. @param {Page} page */
export async function topRefusals(page) {
  const from = new Date(Date.now() - DAYS * 86_400_000).toISOString();
  const query = { decision: ["deny"], dryRun: false, from, size: COUNTED };
  const { data } = await page.call("GET", LOG, { query });
  // A demand to sign in again, or with more factors, refuses no right.
  const most = counted(data.items.filter(({ status }) => status === 403));
  if (most.length === 0) return h("p", null, T.noRefusals);
  return [
    rows(
      most.slice(0, SHOWN).map(({ entry, times }) => ({
        mark: badge(T.times({ n: times }), "bad"),
        text: [entry.userName ?? OPERATIONS.nobody, ": ", requestLine(entry.method, entry.url)],
        help: timeOf(page, entry),
        act: explain(page, entry, refusalOf(entry)),
      })),
    ),
    h(
      "p",
      { class: "help" },
      T.refusalsText({ n: most.reduce((sum, { times }) => sum + times, 0) }),
      " ",
      link(`/logs/operations?${new URLSearchParams({ decision: "deny", from })}`, T.allRefusals),
    ),
  ];
}

/**
 * Return the refusals of the same user and request once, the most frequent first, with the latest entry of each.
 * @param {readonly Entry[]} entries The latest first.
 */
function counted(entries) {
  /** @type {Map<string, {entry: Entry, times: number}>} */ const alike = new Map();
  for (const entry of entries) {
    const key = refusalOf(entry);
    const known = alike.get(key) ?? { entry, times: 0 };
    known.times += entry.repetitions ?? 1;
    alike.set(key, known);
  }
  return [...alike.values()].sort((a, b) => b.times - a.times);
}

/** @param {Entry} entry */
function refusalOf({ userName, method, url }) {
  return `${userName ?? OPERATIONS.nobody}: ${method} ${url}`;
}

/** Return when it was, with the way to the entry. @param {Page} page @param {Entry} entry */
function timeOf(page, { id, createTime }) {
  const then = time(createTime, { ago: true });
  return page.may("GET /api/operation-log/{id}") ? link(`/logs/operations/${id}`, then) : then;
}

/** @param {Page} page @param {Entry} entry @param {string} text What is explained, for screen readers. */
function explain(page, entry, text) {
  if (!page.may("POST /api/policy/explain")) return null;
  const anchor = linkButton(explainAddress(entry), T.explain);
  anchor.setAttribute("aria-label", T.explainOf({ what: text }));
  return anchor;
}
