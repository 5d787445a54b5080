// @ts-check
/** The first view: what needs attention, what happened to rights, what is refused, and when how much happened. */
import { h, link } from "../core/dom.js";
import { block } from "../parts/block.js";
import { ATTENTION, HOME as T, RIGHTS, STEPS } from "../strings/home.js";
import { ACTIVITY } from "../strings/pictures.js";

/** @typedef {import("../core/page.js").Page} Page */

/** @param {Page} page */
export async function show(page) {
  page.title(T.title(page.me.nickName || page.me.name));
  const steps = await begun(page);
  const { attends, attention } = await import("../parts/attention.js");
  const quiet = steps !== null;
  const log = page.may("GET /api/operation-log/list");
  const blocks = [
    log &&
      block(page, T.restored, async () => (await import("../parts/restored.js")).restored(page), {
        quiet: true,
      }),
    steps && block(page, STEPS.title, async () => steps),
    attends(page) && block(page, ATTENTION.title, () => attention(page, { quiet }), { quiet }),
    log &&
      h(
        "div",
        { class: "cards" },
        block(page, T.latest, async () => (await import("../parts/latest.js")).latestChanges(page)),
        block(page, T.refusals, async () => (await import("../parts/latest.js")).topRefusals(page)),
      ),
    page.may("GET /api/system/activity") && block(page, ACTIVITY.card, () => recent(page)),
  ].filter(Boolean);
  page.put(
    blocks.length > 0
      ? blocks
      : block(page, RIGHTS.title, async () => [
          await (await import("../parts/rights.js")).rights(page),
          h("p", { class: "help" }, link("/account", T.own)),
        ]),
  );
}

/** Return the first steps that are left; null if they can't be read, too: the rest of the page does not need them. */
async function begun(/** @type {Page} */ page) {
  try {
    return await (await import("../parts/first-steps.js")).firstSteps(page);
  } catch (problem) {
    if (page.signal.aborted) throw problem;
    return null;
  }
}

/** @param {Page} page */
async function recent(page) {
  const { activity } = await import("../pictures/activity.js");
  return [activity(page), h("p", { class: "help" }, link("/activity?hours=168", ACTIVITY.all))];
}
