// @ts-check
/** Reviews of assignments, with how far they are and what waits for the caller. */
import { badge, empty, h, linkButton } from "../../core/dom.js";
import { shownNumber } from "../../core/locale.js";
import { PATH } from "./waiting.js";
import { progressOf, stateOf } from "./described.js";
import { listing } from "../../parts/table.js";
import { coming, time } from "../../parts/time.js";
import { REVIEWS as T } from "./strings.js";

/** @param {Page} page */
export async function show(page) {
  page.title(
    T.title,
    page.may("POST /api/review") && linkButton(`${PATH}/new`, T.begin, { icon: "plus", kind: "primary" }),
  );
  page.put(
    h("p", null, T.text),
    listing(page, {
      caption: T.caption,
      file: "reviews",
      filters: [{ name: "state", label: T.state, type: "select", options: Object.entries(T.states) }],
      columns: [
        { title: T.name, cell: ({ title }) => title, sort: "title" },
        { title: T.state, cell: stateOf },
        { title: T.progress, cell: progressOf },
        {
          title: T.forMe,
          cell: ({ waiting }) => waiting > 0 && badge(shownNumber(waiting), "info"),
        },
        {
          title: T.deadline,
          cell: ({ state, deadline }) =>
            h("span", null, state === "open" ? coming(deadline) : time(deadline)),
          sort: "deadline",
        },
        { title: T.author, kind: "wide", cell: ({ authorName }) => authorName },
        { title: T.created, cell: ({ createTime }) => time(createTime), sort: "createTime" },
      ],
      row: ({ id }) => `${PATH}/${id}`,
      load: async (query) => (await page.call("GET", "/api/review/list", { query })).data,
      empty: empty(T.none),
    }),
  );
}
