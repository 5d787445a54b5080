// @ts-check
/** What the service does by itself: when each job is due, how its last runs ended; run one now, pause it. */
import { badge, button, card, definition, h } from "../core/dom.js";
import { tell } from "../parts/dialog.js";
import { fileButton } from "../parts/list-file.js";
import { whole } from "../parts/local.js";
import { trouble } from "../parts/trouble.js";
import { table } from "../parts/rows.js";
import { time } from "../parts/time.js";
import { ACTION } from "../strings/common.js";
import { JOBS as T } from "../strings/jobs.js";

const KINDS = /** @type {Record<string, string>} */ ({
  done: "good",
  failed: "bad",
  abandoned: "bad",
  stopped: "warn",
});

/** The columns of a file of jobs. @type {import("../parts/list-file.js").Column[]} */
const COLUMNS = [
  { title: T.name, cell: ({ name }) => name },
  { title: T.title, cell: titleOf },
  { title: T.state, cell: stateOf },
  { title: T.interval, cell: intervalOf },
  { title: T.due, cell: ({ dueTime }) => time(dueTime) },
  { title: T.success, cell: ({ successTime }) => time(successTime) },
];

/** Return the title of a job; an extension has its own words. @param {import("../types/api").JobState} jobState */
function titleOf({ name, title }) {
  return Object.hasOwn(T.titles, name) ? T.titles[name] : title;
}

/** @param {import("../types/api").JobState} jobState */
function stateOf({ failing, paused }) {
  return failing ? badge(T.failing, "bad") : paused ? badge(T.paused, "warn") : T.fine;
}

/** @param {import("../types/api").JobState} jobState */
function intervalOf({ interval }) {
  return interval === null ? T.onDemand : T.every(interval);
}

/** @param {Page} page */
export async function show(page) {
  const { data } = await page.call("GET", "/api/jobs");
  page.title(
    T.title,
    fileButton("jobs", COLUMNS, async () => whole(data.items)),
    button(ACTION.reload, () => page.reload(), { icon: "refresh" }),
  );
  page.put(data.items.map((jobState) => job(page, jobState)));
}

/** @param {Page} page @param {import("../types/api").JobState} jobState */
function job(page, jobState) {
  const { name } = jobState;
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
  return card(
    titleOf(jobState),
    definition([
      [T.name, h("code", null, name)],
      [T.state, stateOf(jobState)],
      [T.interval, intervalOf(jobState)],
      [
        T.due,
        jobState.dueTime &&
          h(
            "span",
            null,
            time(jobState.dueTime, { ago: true }),
            jobState.requestedBy && ` ${T.askedBy({ name: jobState.requestedBy })}`,
          ),
      ],
      [T.success, time(jobState.successTime, { ago: true })],
    ]),
    notes,
    h(
      "div",
      { class: "buttons" },
      page.may("POST /api/jobs/{name}/run") &&
        button(
          T.run,
          () =>
            attempt(() => page.call("POST", "/api/jobs/{name}/run", { path: { name } }), T.asked({ name })),
          { "aria-label": `${T.run}: ${name}`, "data-key": `run-${name}` },
        ),
      page.may("PUT /api/jobs/{name}/paused") &&
        button(
          jobState.paused ? T.resume : T.pause,
          () =>
            attempt(
              () =>
                page.call("PUT", "/api/jobs/{name}/paused", {
                  path: { name },
                  body: { paused: !jobState.paused },
                }),
              jobState.paused ? T.resumed({ name }) : T.isPaused({ name }),
            ),
          { "aria-label": `${jobState.paused ? T.resume : T.pause}: ${name}`, "data-key": `pause-${name}` },
        ),
    ),
    jobState.runs.length > 0 &&
      h(
        "details",
        null,
        h("summary", null, T.runs),
        table(
          `${T.runs}: ${name}`,
          [T.begun, T.ended, T.outcome, T.detail, T.by],
          jobState.runs.map((run) => [
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
