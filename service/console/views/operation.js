// @ts-check
/** One entry of the operation log: who, what, the changes before and after, the decision, and what was sent. */
import { badge, card, definition, h, link } from "../core/dom.js";
import { explainAddress, outcome } from "../parts/logs.js";
import { time } from "../parts/time.js";
import { S } from "../strings.js";

const T = S.operations;

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  const { data: one } = await page.call("GET", "/api/operation-log/{id}", { path: { id: page.params.id } });
  page.crumbs(["/logs/operations", T.title]);
  page.title(`${one.module} ${one.action}`);
  const user = one.userName ?? T.nobody;
  const count = one.changeCount ?? 0;
  page.put(
    h(
      "div",
      { class: "cards" },
      card(
        T.who,
        definition([
          [
            T.user,
            one.userId !== null && page.may("GET /api/user/{id}") ? link(`/users/${one.userId}`, user) : user,
          ],
          [T.device, one.device],
          [T.address, one.clientIp],
          [T.agent, one.userAgent],
        ]),
      ),
      card(
        T.what,
        definition([
          [T.time, time(one.createTime)],
          [T.call, h("code", null, `${one.method} ${one.url}${one.query ? `?${one.query}` : ""}`)],
          [T.preview, one.dryRun ? T.nothingSaved : null],
          [T.repetitions, one.repetitions !== null ? T.ofRepetitions(one.repetitions) : null],
          [T.outcome, outcome(one)],
          [T.elapsed, T.milliseconds(one.elapsedMs)],
          [T.request, one.requestId && h("code", null, one.requestId)],
          [T.trace, one.traceId && h("code", null, one.traceId)],
          [
            T.targets,
            one.targets &&
              h(
                "ul",
                { class: "plain" },
                one.targets.map((/** @type {string} */ target) =>
                  h(
                    "li",
                    null,
                    page.may("GET /api/operation-log/list")
                      ? link(`/logs/operations?target=${encodeURIComponent(target)}`, target)
                      : target,
                  ),
                ),
              ),
          ],
        ]),
      ),
      one.decision &&
        card(
          T.decision,
          definition([
            [
              T.decision,
              badge(T.decisions[one.decision] ?? one.decision, one.decision === "deny" ? "bad" : "good"),
            ],
            [T.decisionId, one.decisionId && h("code", null, one.decisionId)],
            [T.revision, one.policyRevision],
          ]),
          page.may("POST /api/policy/explain") && h("p", null, link(explainAddress(one), T.explain)),
        ),
    ),
    one.changes &&
      card(
        T.changes,
        saved(one.changes),
        count > one.changes.length && h("p", null, T.cut(count - one.changes.length)),
      ),
    one.params !== null && card(T.params, json(one.params)),
    one.response !== null && card(T.response, json(one.response)),
  );
}

/** @param {any[]} changes */
function saved(changes) {
  const titles = [T.target, S.changes.member, S.changes.before, S.changes.after];
  return h(
    "div",
    { class: "scroll", role: "region", "aria-label": T.changes, tabindex: "0" },
    h(
      "table",
      { class: "table changes" },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          titles.map((title) => h("th", { scope: "col" }, title)),
        ),
      ),
      h(
        "tbody",
        null,
        changes.map((one) =>
          h(
            "tr",
            null,
            h("th", { scope: "row", "data-label": T.target }, one.target),
            h("td", { "data-label": S.changes.member }, one.field),
            h("td", { "data-label": S.changes.before }, value(one.before, "del", one.removed)),
            h("td", { "data-label": S.changes.after }, value(one.after, "ins", one.added)),
          ),
        ),
      ),
    ),
  );
}

/**
 * @param {any} given
 * @param {"del" | "ins"} tag
 * @param {number | undefined} all How many values there are, of which some may be left out.
 */
function value(given, tag, all) {
  if (given === null || given === undefined || (Array.isArray(given) && given.length === 0)) return "–";
  const texts = (Array.isArray(given) ? given : [given]).map((one) =>
    typeof one === "object" ? JSON.stringify(one) : String(one),
  );
  return [
    h(tag, null, texts.join(", ")),
    all !== undefined && all > texts.length && ` ${T.andMore(all - texts.length)}`,
  ];
}

/** @param {any} content */
function json(content) {
  return h("pre", { tabindex: "0" }, JSON.stringify(content, null, 2));
}
