// @ts-check
/** The policy in force: its revision, the model with its explanation, and the lines. */
import { button, card, definition, h, link } from "../core/dom.js";
import { ask, tell } from "../parts/dialog.js";
import { objectOf, partsOf } from "../parts/policy.js";
import { table } from "../parts/rows.js";
import { listing } from "../parts/table.js";
import { time } from "../parts/time.js";
import { POLICY as T } from "../strings/policy.js";

/**
 * @param {Page} page
 * @param {import("../types/view").ShowPart[]} parts Stand behind what is in force.
 */
export async function show(page, parts) {
  const [{ data }, ...added] = await Promise.all([
    page.call("GET", "/api/policy", { query: { size: 1 } }),
    ...parts.map((part) => part(page)),
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
        [T.lines, T.linesCount({ n: data.lineCount })],
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
    added,
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

/** @param {Page} page */
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
  tell(T.reloaded({ n: revision }));
  await page.reload();
}
