// @ts-check
/** One entry of the operation log: who, what, the changes before and after, the decision, and what was sent. */
import { badge, bullets, card, definition, h, link } from "../core/dom.js";
import { copyable } from "../parts/copy.js";
import { explainAddress } from "../parts/logs.js";
import { revertButton } from "../parts/revert.js";
import { table } from "../parts/rows.js";
import { plain, sentence } from "../parts/sentence.js";
import { time } from "../parts/time.js";
import { CHANGES, enumerated } from "../strings/common.js";
import { OPERATIONS as T } from "../strings/operations.js";

/** @param {Page} page @param {import("../types/view").ShowPart[]} parts */
export async function show(page, parts) {
  const { data: entry } = await page.call("GET", "/api/operation-log/{id}", { path: { id: page.params.id } });
  page.crumbs(["/logs/operations", T.title]);
  page.title(plain(sentence(entry)), revertButton(page, entry));
  const user = entry.userName ?? T.nobody;
  const count = entry.changeCount ?? 0;
  const denied = entry.decision === "deny" ? await Promise.all(parts.map((part) => part(page, entry))) : [];
  page.put(
    denied,
    h(
      "div",
      { class: "cards" },
      card(
        T.who,
        definition([
          [T.user, page.linked("user", entry.userId, user)],
          [T.device, entry.device],
          [T.address, entry.clientIp],
          [T.agent, entry.userAgent],
        ]),
      ),
      card(
        T.what,
        definition([
          [T.time, time(entry.createTime, { seconds: true })],
          [T.operation, `${entry.module} ${entry.action}`],
          [T.call, h("code", null, `${entry.method} ${entry.url}${entry.query ? `?${entry.query}` : ""}`)],
          [T.preview, entry.dryRun ? T.nothingSaved : null],
          [T.repetitions, entry.repetitions !== null ? T.ofRepetitions({ n: entry.repetitions }) : null],
          [T.outcome, [entry.status, entry.error].filter(Boolean).join(" ")],
          [T.elapsed, T.milliseconds({ n: entry.elapsedMs })],
          [T.request, copyable(entry.requestId)],
          [T.trace, copyable(entry.traceId)],
          [
            T.targets,
            entry.targets &&
              bullets(
                entry.targets,
                (/** @type {string} */ target) =>
                  page.may("GET /api/operation-log/list")
                    ? link(`/logs/operations?target=${encodeURIComponent(target)}`, target)
                    : target,
                { class: "plain" },
              ),
          ],
        ]),
      ),
      entry.decision &&
        card(
          T.decision,
          definition([
            [
              T.decision,
              badge(
                T.decisions[entry.decision] ?? entry.decision,
                entry.decision === "deny" ? "bad" : "good",
              ),
            ],
            [T.decisionId, copyable(entry.decisionId)],
            [T.revision, entry.policyRevision],
          ]),
          page.may("POST /api/policy/explain") && h("p", null, link(explainAddress(entry), T.explain)),
        ),
    ),
    entry.changes &&
      card(
        T.changes,
        saved(entry.changes),
        count > entry.changes.length && h("p", null, T.cut({ n: count - entry.changes.length })),
      ),
    entry.params !== null && card(T.params, json(entry.params)),
    entry.response !== null && card(T.response, json(entry.response)),
  );
}

/** @param {any[]} changes */
function saved(changes) {
  return table(
    T.changes,
    [T.target, CHANGES.member, CHANGES.before, CHANGES.after],
    changes.map(({ target, field, before, removed, after, added }) => [
      target,
      field,
      value(before, "del", removed),
      value(after, "ins", added),
    ]),
    "changes",
  );
}

/**
 * @param {any} given
 * @param {"del" | "ins"} tag
 * @param {number | undefined} all How many values there are, of which some may be left out.
 */
function value(given, tag, all) {
  if (given === null || given === undefined || (Array.isArray(given) && given.length === 0)) return "–";
  const texts = (Array.isArray(given) ? given : [given]).map((item) =>
    typeof item === "object" ? JSON.stringify(item) : String(item),
  );
  return [
    h(tag, null, enumerated(texts)),
    all !== undefined && all > texts.length && ` ${T.andMore({ n: all - texts.length })}`,
  ];
}

/** @param {any} content */
function json(content) {
  return h("pre", { tabindex: "0" }, JSON.stringify(content, null, 2));
}
