// @ts-check
/** The checks of the installation, read once for all that show them at the same time. */
import { timeText } from "./locale.js";
import { inLanguage } from "./refusals.js";
import { session } from "./session.js";

/** @typedef {import("../types/api").SystemFindings} Findings */

/** Is told how many findings need attention, at each reading. */
export const hooks = { counted: /** @type {(count: number) => void} */ (() => {}) };
/** @type {Promise<Findings> | null} */ let reading = null;

/** Read the findings of all checks; the service makes them anew after some seconds. Throws `Problem`. */
export function read() {
  reading ??= session
    .call("GET", "/api/system/findings")
    .then(({ data }) => {
      hooks.counted(wrong(data).length);
      return data;
    })
    .finally(() => {
      reading = null;
    });
  return reading;
}

/** Read the findings, with their texts in the language of the page and their times in its zone. Throws `Problem`. */
export async function readTexts() {
  const findings = await read();
  const { items } = findings;
  const messages = (await inLanguage(items)).map((text) =>
    text.replace(/\d{4}-\d{2}-\d{2}T[\d:.]{8,15}Z/g, timeText),
  );
  return { ...findings, items: items.map((item, place) => ({ ...item, message: messages[place] })) };
}

/** Return the findings that need attention. @param {Findings} findings */
export function wrong({ items }) {
  return items.filter(({ state }) => state !== "ok");
}
