// @ts-check
/** What home shows of reviews: the items that wait for the caller, to decide about there. */
import { h, link, linkButton } from "../../core/dom.js";
import { coming } from "../../parts/time.js";
import { groups } from "./review-groups.js";
import * as queue from "./waiting.js";
import { REVIEWS as T } from "./strings.js";

/** The most items of a review that home shows. */
const MOST = 40;

/** Return what home shows, by its place. @param {Page} page */
export async function part(page) {
  return { waiting: () => waiting(page), own: [] };
}

/** Return the items that wait for the caller, by review; null for none. @param {Page} page */
async function waiting(page) {
  const open = (await queue.read()).filter(({ waiting: count }) => count);
  if (open.length === 0) return null;
  return Promise.all(
    open.map(async (review) => {
      const { id, title, deadline } = review;
      const count = review.waiting ?? 0;
      return h(
        "section",
        { class: "body" },
        h(
          "div",
          { class: "head" },
          h(
            "div",
            null,
            h("h3", null, link(`${queue.PATH}/${id}`, title)),
            h("small", null, T.endsAt, " ", coming(deadline)),
          ),
          count > MOST && linkButton(`${queue.PATH}/${id}/mine`, T.decideAll({ n: count })),
        ),
        count <= MOST && (await groups(page, review, { brief: true })),
      );
    }),
  );
}
