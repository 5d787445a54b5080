// @ts-check
/** Two revisions of the policy: which lines differ, and who gains and loses by it. */
import { button, card, h } from "../core/dom.js";
import { trouble } from "../parts/trouble.js";
import { form } from "../parts/form.js";
import { FIRST, access, lines } from "../parts/lines.js";
import { answering, asking } from "../parts/policy.js";
import { POLICY as T } from "../strings/policy.js";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  const { query } = page;
  const [from, to] = [Number(query.get("from")), Number(query.get("to"))];
  page.crumbs(["/policy/revisions", T.tab.revisions]);
  page.crumbs(["/policy/revisions", T.tab.revisions]);
  page.title(from && to ? T.compareTitle(from, to) : T.compare);
  const shown = form({
    fields: [
      {
        name: "from",
        label: T.compareFrom,
        type: "number",
        required: true,
        value: from || null,
        attributes: { min: 1 },
      },
      {
        name: "to",
        label: T.compareTo,
        type: "number",
        required: true,
        value: to || null,
        attributes: { min: 1 },
      },
    ],
    submit: T.compare,
    quiet: true,
    save: (values) => asking(page, values),
  });
  shown.classList.add("question");
  const answer = h("div", { class: "body" });
  page.put(card("", shown), answer);
  if (!from || !to) return;
  answering(page, shown, answer, () => difference(page, from, to));
}

/** @param {import("../core/page.js").Page} page @param {number} from @param {number} to */
async function difference(page, from, to) {
  const read = async (/** @type {any} */ part) =>
    (await page.call("GET", "/api/policy/diff", { query: { from, to, ...part } })).data;
  const first = await read(FIRST);
  const impact = h("div", { "aria-live": "polite" });
  const showImpact = async () => {
    const part = async (/** @type {any} */ query) =>
      /** @type {import("../types/api").Access} */ ((await read({ ...query, size: 1, access: true })).access);
    try {
      impact.replaceChildren(await access(part));
    } catch (problem) {
      if (!page.signal.aborted) impact.replaceChildren(trouble(problem, showImpact));
    }
  };
  if (page.query.get("access") === "true") await showImpact();
  else impact.append(button(T.showImpact, showImpact));
  return [
    card(T.changesTitle, lines(read, first, T.sameLines)),
    card(T.impactTitle, h("p", null, T.impactText), impact),
  ];
}
