// @ts-check
/** The calls of agents that wait for the decision of the caller. */
import { h } from "../../core/dom.js";
import { whole } from "../../parts/local.js";
import { listing } from "../../parts/table.js";
import { coming, time } from "../../parts/time.js";
import { callLine } from "./call.js";
import { APPROVALS as T } from "./strings.js";

/** @param {Page} page */
export async function show(page) {
  page.title(T.title);
  page.put(
    h("p", { class: "help" }, T.about),
    listing(page, {
      caption: T.caption,
      columns: [
        { title: T.agent, cell: ({ agentName }) => agentName },
        { title: T.call, cell: (call) => callLine(call) },
        { title: T.asked, cell: ({ createTime }) => time(createTime, { ago: true }) },
        { title: T.until, cell: ({ until }) => coming(until) },
      ],
      row: ({ id }) => `/account/approvals/${id}`,
      load: async () => whole((await page.call("GET", "/api/user/profile/approvals")).data.items),
      empty: h("p", { class: "empty" }, T.none),
    }),
  );
}
