// @ts-check
/** Two revisions of the policy: which lines differ, and who gains and loses by it. */
import { Problem } from "../../client/portcullis.js";
import { button, card, h } from "../../core/dom.js";
import { trouble } from "../../parts/trouble.js";
import { form } from "../../parts/form.js";
import { FIRST, access, lines } from "../../parts/lines.js";
import { answering, asking } from "../../parts/policy.js";
import { FORM } from "../../strings/form.js";
import { POLICY as T } from "../../strings/policy.js";

/** @typedef {import("../../core/page.js").Page} Page */

/** @param {Page} page */
export async function show(page) {
  const { query } = page;
  const [since, from] = [query.get("since"), Number(query.get("from"))];
  page.crumbs(["/policy/revisions", T.tab.revisions]);
  page.title(T.compare);
  const shown = form({
    fields: [
      { name: "since", label: T.sinceTime, type: "datetime", value: since, help: T.sinceHelp },
      {
        name: "from",
        label: T.compareFrom,
        type: "number",
        value: from || null,
        attributes: { min: 1 },
      },
      {
        name: "to",
        label: T.compareTo,
        type: "number",
        value: Number(query.get("to")) || null,
        help: T.compareToHelp,
        attributes: { min: 1 },
      },
    ],
    submit: T.compare,
    quiet: true,
    save: (values) => {
      if (values.from) delete values.since;
      else if (!values.since) throw new Problem(422, { errors: [{ field: "from", message: FORM.missing }] });
      return asking(page, values);
    },
  });
  shown.classList.add("question");
  const answer = h("div", { class: "body" });
  page.put(card("", shown), answer);
  if (!from && !since) return;
  answering(page, shown, answer, async () => {
    const first = from || (await inForce(page, since));
    const last = Number(query.get("to")) || (await inForce(page, null));
    page.title(T.compareTitle(first, last));
    return difference(page, first, last);
  });
}

/**
 * Return the revision that was in force at a time, or is now; the first one for a time before it.
 * @param {Page} page @param {string | null} time
 */
async function inForce(page, time) {
  const query = { size: 1, ...(time ? { to: time } : {}) };
  return (await page.call("GET", "/api/policy/revisions", { query })).data.items[0]?.revision ?? 1;
}

/** @param {Page} page @param {number} from @param {number} to */
async function difference(page, from, to) {
  const read = async (/** @type {any} */ part) =>
    (await page.call("GET", "/api/policy/diff", { query: { from, to, ...part } })).data;
  const first = await read(FIRST);
  const impact = h("div", { "aria-live": "polite" });
  const showImpact = async () => {
    const part = async (/** @type {any} */ query) =>
      /** @type {import("../../types/api").Access} */ (
        (await read({ ...query, size: 1, access: true })).access
      );
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
