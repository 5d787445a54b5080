// @ts-check
/** A restore of the last days: why ids and the policy revision are much higher than before. */
import { HOME as T } from "../strings/home.js";
import { rows, way } from "./block.js";
import { time } from "./time.js";

/** For how many days it is told. */
const DAYS = 7;

/** Read and return what to say of a restore; null without one. @param {Page} page */
export async function restored(page) {
  const from = new Date(Date.now() - DAYS * 86_400_000).toISOString();
  const query = { module: "backup", kind: ["IMPORT"], from, size: 1 };
  const { data } = await page.call("GET", "/api/operation-log/list", { query });
  const [entry] = data.items;
  if (!entry) return null;
  const act = way(page, `/logs/operations/${entry.id}`, T.restoredEntry);
  return rows([{ text: T.restoredText, help: time(entry.createTime, { ago: true }), act }]);
}
