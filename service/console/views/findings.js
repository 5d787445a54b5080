// @ts-check
/** What the checks of the installation say about the policy. */
import { card, h } from "../core/dom.js";
import { findingList } from "../parts/findings.js";
import { tabs } from "../parts/policy.js";
import { time } from "../parts/time.js";
import { DOCTOR } from "../strings/doctor.js";
import { POLICY as T } from "../strings/policy.js";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  const { data } = await page.call("GET", "/api/system/findings");
  page.title(T.tab.findings);
  page.put(
    tabs(page),
    h("p", null, T.findingsText),
    card("", findingList(data.items.filter(({ check }) => check.includes("policy")))),
    h("p", { class: "help" }, DOCTOR.checkedAt, " ", time(data.checkedTime)),
  );
}
