// @ts-check
/**
 * The words of the sentences that entries of the logs read as.
 *
 * In an act, `{about}` stands for the records of the entry, `{part}` for the part of the path that `PARTS` names.
 */
import { messages } from "../core/texts.js";

const T = await messages("sentences");

/**
 * What the operations do, by module and action of the log: when it was done, and when it was refused or tried.
 */
export const ACTS = /** @type {Record<string, [done: string, act: string]>} */ (
  /** @type {unknown} */ (T.ACTS)
);

/**
 * Which segment of the path `{part}` is, the first being 1: `/api/jobs/{name}/run` has the name third.
 * In the entry of a command it is the last word: `portcullis jobs run NAME`.
 */
export const PARTS = /** @type {Record<string, number>} */ ({
  "policy restore": 4,
  "job run": 3,
  "job pause or resume": 3,
  "file delete": 3,
  "file share": 3,
  "file unshare": 3,
  "review decide": 3,
  "review decide about many": 3,
  "review close": 3,
  "review export evidence": 3,
});

export const SENTENCE = T.SENTENCE;

/** What stands for records that are not known, such as those of a refused request: by module, or by operation. */
export const UNNAMED = /** @type {Record<string, string>} */ (T.SENTENCE.unnamed);

/** The kinds of records by which the log names them, with names. */
export const KINDS = /** @type {Record<string, string>} */ (T.SENTENCE.kinds);

/** Fields whose names in the API are not what the console calls them. */
export const FIELDS = /** @type {Record<string, string>} */ (T.SENTENCE.fields);

/** What happened to sessions, by event: when it succeeded, and when it did not. */
export const EVENTS = /** @type {Record<string, [done: string, failed: string]>} */ (
  /** @type {unknown} */ (T.EVENTS)
);

/** Why, by the reason or the code that the log has; others are shown as they are. */
export const REASONS = /** @type {Record<string, string>} */ (T.REASONS);
