// @ts-check
/** The texts of requests for roles. */
import { listed } from "../../core/locale.js";
import { saying, texts } from "../../core/texts.js";
import { enumerated, namesOf } from "../../strings/common.js";
import { duration } from "../../strings/words.js";

const T = await texts("access-requests");

export const REQUESTS = saying(T.REQUESTS, {
  duration,
  titles: namesOf,
  atMost: (/** @type {number} */ seconds) => T.REQUESTS.atMost({ duration: duration(seconds) }),
  names: (/** @type {readonly string[]} */ names, /** @type {number} */ needed) => {
    if (needed >= names.length) return listed(names);
    if (needed === 1) return listed(names, "disjunction");
    return T.REQUESTS.names({ needed, names: enumerated(names) });
  },
  able: (/** @type {readonly string[]} */ names) => T.REQUESTS.able({ names: enumerated(names) }),
  steps: saying(T.REQUESTS.steps, {
    inStages: (/** @type {readonly number[]} */ stages) =>
      T.REQUESTS.steps.inStages({ n: stages.length, stages: enumerated(stages.map(String)) }),
  }),
});
