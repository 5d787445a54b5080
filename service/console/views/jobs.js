// @ts-check
/** What the service does by itself: when each job is due, how its last runs ended; run one now, pause it. */
import { badge, button, card, definition, h } from "../core/dom.js";
import { tell } from "../parts/dialog.js";
import { trouble } from "../parts/trouble.js";
import { table } from "../parts/rows.js";
import { time } from "../parts/time.js";
import { S } from "../strings.js";

const T = S.jobs;
const KINDS = /** @type {Record<string, string>} */ ({
  done: "good",
  failed: "bad",
  abandoned: "bad",
  stopped: "warn",
});

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  page.title(
    T.title,
    button(S.action.reload, () => page.reload(), { icon: "refresh" }),
  );
  const { data } = await page.call("GET", "/api/jobs");
  page.put(data.items.map((one) => job(page, one)));
}

/** @param {import("../core/page.js").Page} page @param {import("../types/api").JobState} one */
function job(page, one) {
  const { name } = one;
  const notes = h("div", { class: "notes" });
  /** @param {() => Promise<any>} work @param {string} done */
  const attempt = async (work, done) => {
    try {
      await work();
      tell(done);
      await page.reload();
    } catch (problem) {
      notes.replaceChildren(trouble(problem));
    }
  };
  const state = one.failing
    ? badge(T.failing, "bad")
    : one.paused
      ? badge(T.paused, "warn")
      : badge(T.fine, "good");
  return card(
    one.title,
    definition([
      [T.name, h("code", null, name)],
      [T.state, state],
      [T.interval, one.interval === null ? T.onDemand : T.every(one.interval)],
      [
        T.due,
        one.dueTime &&
          h(
            "span",
            null,
            time(one.dueTime, { ago: true }),
            one.requestedBy && ` ${T.askedBy(one.requestedBy)}`,
          ),
      ],
      [T.success, time(one.successTime, { ago: true })],
    ]),
    notes,
    h(
      "div",
      { class: "buttons" },
      page.may("POST /api/jobs/{name}/run") &&
        button(
          T.run,
          () => attempt(() => page.call("POST", "/api/jobs/{name}/run", { path: { name } }), T.asked(name)),
          { "aria-label": `${T.run}: ${name}`, "data-key": `run-${name}` },
        ),
      page.may("PUT /api/jobs/{name}/paused") &&
        button(
          one.paused ? T.resume : T.pause,
          () =>
            attempt(
              () =>
                page.call("PUT", "/api/jobs/{name}/paused", {
                  path: { name },
                  body: { paused: !one.paused },
                }),
              one.paused ? T.resumed(name) : T.isPaused(name),
            ),
          { "aria-label": `${one.paused ? T.resume : T.pause}: ${name}`, "data-key": `pause-${name}` },
        ),
    ),
    one.runs.length > 0 &&
      h(
        "details",
        null,
        h("summary", null, T.runs),
        table(
          `${T.runs}: ${name}`,
          [T.begun, T.ended, T.outcome, T.detail, T.by],
          one.runs.map((run) => [
            time(run.beginTime),
            time(run.endTime),
            badge(T.outcomes[run.outcome] ?? run.outcome, KINDS[run.outcome]),
            run.detail,
            run.userName ?? T.schedule,
          ]),
        ),
      ),
  );
}
