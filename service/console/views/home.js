// @ts-check
/** The first view: what waits for the caller and what is theirs, what needs attention, and what happened to rights. */
import { h, link, pieces } from "../core/dom.js";
import { block } from "../parts/block.js";
import { ATTENTION, HOME as T, RIGHTS, STEPS } from "../strings/home.js";
import { ACTIVITY } from "../strings/pictures.js";

/** @typedef {import("../types/view").HomePart} HomePart */

/** @param {Page} page @param {import("../types/view").ShowPart[]} parts */
export async function show(page, parts) {
  page.title(T.title({ name: page.me.nickName || page.me.name }));
  const [steps, added, { attends, attention }] = await Promise.all([
    begun(page),
    /** @type {Promise<HomePart[]>} */ (Promise.all(parts.map((part) => part(page)))),
    import("../parts/attention.js"),
  ]);
  const quiet = steps !== null;
  const log = page.may("GET /api/operation-log/list");
  const manages = log || attends(page) || page.may("GET /api/system/activity");
  page.put(
    added.length > 0 && block(page, T.waiting, () => waiting(added), { quiet: true }),
    log &&
      block(page, T.restored, async () => (await import("../parts/restored.js")).restored(page), {
        quiet: true,
      }),
    attends(page) && block(page, ATTENTION.title, () => attention(page, { quiet }), { quiet }),
    steps && block(page, STEPS.title, async () => steps),
    added.flatMap(({ own }) => own),
    block(page, T.endings, async () => (await import("../parts/role-endings.js")).endings(page), {
      quiet: true,
    }),
    log &&
      h(
        "div",
        { class: "cards" },
        block(page, T.latest, async () => (await import("../parts/latest.js")).latestChanges(page)),
        block(page, T.refusals, async () => (await import("../parts/latest.js")).topRefusals(page)),
      ),
    page.may("GET /api/system/activity") && block(page, ACTIVITY.card, () => recent(page)),
    !manages &&
      block(page, RIGHTS.title, async () => [
        await (await import("../parts/rights.js")).rights(page),
        h("p", { class: "help" }, link("/account", T.own)),
      ]),
  );
}

/** Return what waits for the caller, in one card; null for nothing. @param {HomePart[]} added */
async function waiting(added) {
  const all = pieces(await Promise.all(added.map((part) => part.waiting())));
  return all.length > 0 ? all : null;
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
