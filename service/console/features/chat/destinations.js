// @ts-check
/** The destinations of notices in a chat: what they got, and a test message. */
import { button, card, h } from "../../core/dom.js";
import { shownNumber } from "../../core/locale.js";
import { tell } from "../../parts/dialog.js";
import { attempt } from "../../parts/preview.js";
import { table } from "../../parts/rows.js";
import { enumerated } from "../../strings/common.js";
import { CHAT as T } from "./strings.js";

/** Return the destinations; nothing where there are none. @param {Page} page */
export async function part(page) {
  const { data } = await page.call("GET", "/api/chat/list");
  if (!data.items.length) return null;
  const mayTest = page.may("POST /api/chat/{name}/test");
  const test = (/** @type {string} */ name) =>
    attempt(T.testOf({ name }), async () => {
      const { data: result } = await page.call("POST", "/api/chat/{name}/test", { path: { name } });
      tell(result.accepted ? T.accepted({ name }) : T.refused({ name, fault: result.fault ?? "" }));
    });
  return card(
    T.title,
    h("p", null, T.text),
    table(
      T.title,
      [T.name, T.kindsTitle, T.waiting, T.sent, T.givenUp, T.fault, ...(mayTest ? [""] : [])],
      data.items.map(({ name, kinds, waiting, sent, givenUp, fault }) => [
        h("code", null, name),
        enumerated(kinds.map((kind) => T.kinds[kind])),
        ...[waiting, sent, givenUp].map((count) => shownNumber(count)),
        fault,
        ...(mayTest
          ? [
              button(T.test, () => test(name), {
                "aria-label": T.testOf({ name }),
                "data-key": `test-${name}`,
              }),
            ]
          : []),
      ]),
    ),
  );
}
