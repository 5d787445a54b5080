// @ts-check
/** The policy in force: its revision, the model with its explanation, and the lines. */
import { badge, button, card, definition, h, link } from "../core/dom.js";
import { ask, tell } from "../parts/dialog.js";
import { objectOf, partsOf } from "../parts/policy.js";
import { table } from "../parts/rows.js";
import { listing } from "../parts/table.js";
import { time } from "../parts/time.js";
import { POLICY as T } from "../strings/policy.js";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  const [{ data }, followers] = await Promise.all([
    page.call("GET", "/api/policy", { query: { size: 1 } }),
    page.may("GET /api/policy/followers") ? page.call("GET", "/api/policy/followers") : null,
  ]);
  page.crumbs(["/policy/revisions", T.tab.revisions]);
  page.title(
    T.title,
    page.may("POST /api/policy/reload") && button(T.reload, () => reload(page), { icon: "refresh" }),
  );
  page.put(
    card(
      T.inForce,
      definition([
        [T.revision, link(`/policy/revisions/${data.revision}`, String(data.revision))],
        [T.lines, T.linesCount(data.lineCount)],
        [T.digest, h("code", null, data.digest)],
        [T.ownDigest, h("code", null, data.ownDigest)],
      ]),
      h(
        "details",
        null,
        h("summary", null, T.workers, ` (${data.workers.length})`),
        table(
          T.workers,
          [T.worker, T.revision, T.fault, T.seen],
          data.workers.map((/** @type {import("../types/api").Worker} */ worker) => [
            h("code", null, worker.worker),
            String(worker.revision),
            worker.fault ?? T.noFault,
            time(worker.seenTime),
          ]),
        ),
      ),
    ),
    followers?.data.followers.length ? following(page, followers.data) : null,
    card(
      T.model,
      h("p", null, T.modelText),
      definition(T.modelTerms),
      h(
        "details",
        null,
        h("summary", null, h("code", null, "model.conf")),
        h(
          "pre",
          { class: "model", tabindex: "0", role: "region", "aria-label": T.model },
          data.model
            .split("\n")
            .map((/** @type {string} */ line) => [
              line.startsWith("#") ? h("span", { class: "comment" }, line) : line,
              "\n",
            ]),
        ),
      ),
    ),
    listing(page, {
      caption: T.linesCaption,
      size: 50,
      filters: [
        { name: "line", label: T.find },
        { name: "layer", label: T.layer, type: "select", options: Object.entries(T.layers) },
      ],
      columns: [
        { title: T.layer, cell: (rule) => rule.layer },
        {
          title: T.object,
          cell: (rule) =>
            rule.layer === "resource" || rule.layer === "endpoint"
              ? objectOf(page, rule.object)
              : h("code", null, rule.object),
        },
        { title: T.code, cell: (rule) => h("code", null, rule.code) },
      ],
      load: async ({ page: number, size, line, layer }) => {
        const {
          data: { rules, total },
        } = await page.call("GET", "/api/policy", { query: { page: number, size, line, layer } });
        return { items: rules.map(partsOf), total, page: Number(number) || 1, size: Number(size) };
      },
    }),
  );
}

/**
 * Return who decides beside other services; who was seen within a day is listed.
 * @param {import("../core/page.js").Page} page
 * @param {import("../types/api").FollowerList} list
 */
function following(page, { revision, followers }) {
  return card(
    T.followers,
    h("p", null, T.followersText),
    table(
      T.followers,
      [T.follower, T.state, T.account, T.followed, T.revision, T.behind, T.renewed, T.bound],
      followers.map((each) => [
        h("code", null, each.name),
        each.following ? badge(T.follows, "good") : badge(T.lapsed, "warn"),
        page.may("GET /api/user/{id}") ? link(`/users/${each.userId}`, each.userName) : each.userName,
        each.services.join(", "),
        each.revision ? String(each.revision) : null,
        each.revision ? T.revisionsBehind(revision - each.revision) : null,
        time(each.seenTime, { seconds: true }),
        T.seconds((Date.parse(each.leaseTime) - Date.parse(each.seenTime)) / 1000),
      ]),
    ),
  );
}

/** @param {import("../core/page.js").Page} page */
async function reload(page) {
  let revision = 0;
  const done = await ask({
    title: T.reloadTitle,
    text: T.reloadText,
    confirm: T.reload,
    act: async () => {
      revision = (await page.call("POST", "/api/policy/reload")).data.policyRevision;
    },
  });
  if (!done) return;
  tell(T.reloaded(revision));
  await page.reload();
}
