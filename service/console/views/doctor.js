// @ts-check
/** All checks of the installation. */
import { button, card, h } from "../core/dom.js";
import { findingList } from "../parts/findings.js";
import { time } from "../parts/time.js";
import { S } from "../strings.js";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  page.title(
    S.doctor.title,
    button(S.action.reload, () => page.reload(), { icon: "refresh" }),
  );
  const { data } = await page.call("GET", "/api/system/findings");
  const wrong = data.items.filter(({ state }) => state !== "ok");
  page.put(
    h("p", { class: "help" }, S.doctor.checkedAt, " ", time(data.checkedTime)),
    card(S.doctor.attention, wrong.length > 0 ? findingList(wrong) : h("p", null, S.doctor.fine)),
    card(S.doctor.asItShould, findingList(data.items.filter(({ state }) => state === "ok"))),
  );
}
