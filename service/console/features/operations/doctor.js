// @ts-check
/** All checks of the installation. */
import { button, card, h } from "../../core/dom.js";
import * as health from "../../core/health.js";
import { findingList } from "../../parts/findings.js";
import { time } from "../../parts/time.js";
import { ACTION } from "../../strings/common.js";
import { DOCTOR } from "../../strings/doctor.js";

/** @param {Page} page */
export async function show(page) {
  page.title(
    DOCTOR.title,
    button(ACTION.reload, () => page.reload(), { icon: "refresh" }),
  );
  const data = await health.readTexts();
  const wrong = health.wrong(data);
  page.put(
    h("p", { class: "help" }, DOCTOR.checkedAt, " ", time(data.checkedTime)),
    card(DOCTOR.attention, wrong.length > 0 ? findingList(wrong) : h("p", null, DOCTOR.fine)),
    card(DOCTOR.asItShould, findingList(data.items.filter(({ state }) => state === "ok"))),
  );
}
