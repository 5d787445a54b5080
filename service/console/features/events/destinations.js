// @ts-check
/** The destinations of events about rights: what they got, a test event, dead letters, and events sent again. */
import { badge, button, card, h } from "../../core/dom.js";
import { shownNumber } from "../../core/locale.js";
import { ask, dialog, tell } from "../../parts/dialog.js";
import { attempt } from "../../parts/preview.js";
import { table } from "../../parts/rows.js";
import { time } from "../../parts/time.js";
import { WEBHOOKS as T } from "./strings.js";

/** Return the destinations; nothing where there are none. @param {Page} page */
export async function part(page) {
  const { data } = await page.call("GET", "/api/webhook/list");
  if (!data.items.length) return null;
  return card(
    T.title,
    h("p", null, T.text),
    table(
      T.title,
      [T.name, T.lag, T.sent, T.missed, T.deadLetters, T.fault, T.acts],
      data.items.map((item) => [
        h("code", null, item.name),
        T.seconds(item.lag),
        shownNumber(item.sent),
        shownNumber(item.missed),
        item.deadLetters
          ? button(shownNumber(item.deadLetters), () => letters(page, item.name), {
              "aria-label": T.lettersOf({ name: item.name }),
            })
          : shownNumber(0),
        item.stopTime ? [badge(T.stopped, "bad"), " ", item.fault] : item.fault,
        [
          page.may("POST /api/webhook/{name}/test") &&
            button(T.test, () => test(page, item.name), { "aria-label": T.testOf({ name: item.name }) }),
          page.may("POST /api/webhook/{name}/replay") &&
            button(T.replay, () => replay(page, item.name), {
              "aria-label": T.replayOf({ name: item.name }),
            }),
        ],
      ]),
    ),
  );
}

/** Send a test event. @param {Page} page @param {string} name */
function test(page, name) {
  return attempt(T.testOf({ name }), async () => {
    const { data } = await page.call("POST", "/api/webhook/{name}/test", { path: { name } });
    tell(data.accepted ? T.accepted({ name }) : T.refused({ name, fault: data.fault ?? "" }));
  });
}

/** Ask from when on events are sent again. @param {Page} page @param {string} name */
function replay(page, name) {
  return ask({
    title: T.replayOf({ name }),
    text: T.replayText,
    confirm: T.replay,
    extra: [{ name: "from", label: T.from, type: "datetime", required: true }],
    act: async (values) => {
      const { data } = await page.call("POST", "/api/webhook/{name}/replay", {
        path: { name },
        body: { from: values.from },
      });
      tell(T.replayed({ n: data.events }));
    },
  });
}

/** Show the newest dead letters. @param {Page} page @param {string} name */
function letters(page, name) {
  return attempt(T.lettersOf({ name }), async () => {
    const { data } = await page.call("GET", "/api/webhook/{name}/dead-letters", { path: { name } });
    dialog(
      T.lettersOf({ name }),
      table(
        T.deadLetters,
        [T.kind, T.eventTime, T.fault, T.id],
        data.items.map((letter) => [
          h("code", null, letter.kind),
          time(letter.eventTime, { seconds: true }),
          letter.reason,
          h("code", null, letter.id),
        ]),
      ),
    );
  });
}
