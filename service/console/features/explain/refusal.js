// @ts-check
/** Why an entry of the log was refused, in a sentence, with the acts that repair it. */
import { badge, h } from "../../core/dom.js";
import { block } from "../../parts/block.js";
import { POLICY as T } from "../../strings/policy.js";
import { repairs, verdict } from "./repair.js";

/** @param {Page} page @param {any} entry */
export async function part(page, entry) {
  return block(page, T.answer, async () => {
    const { decisionId, userName, method, url } = entry;
    const { data } = await page.call("POST", "/api/policy/explain", { body: { decisionId } });
    const asked = { userName, request: `${method} ${url}` };
    return [
      h(
        "p",
        null,
        badge(data.allowed ? T.allowedNow : T.denied, data.allowed ? "good" : "bad"),
        " ",
        verdict(data, asked),
      ),
      !data.allowed && (await repairs(page, data, asked, decisionId)),
    ];
  });
}
