// @ts-check
/** What is wrong with the installation, or may soon be, as `portcullis doctor` finds it. */
import { badge, bullets, h } from "../core/dom.js";
import { DOCTOR } from "../strings/doctor.js";

/** @typedef {import("../types/api").CheckFinding} CheckFinding */

const KINDS = Object.keys(DOCTOR.states);

/** Return the findings, the worst first. @param {CheckFinding[]} items */
export function findingList(items) {
  const sorted = [...items].sort((a, b) => KINDS.indexOf(a.state) - KINDS.indexOf(b.state));
  return bullets(
    sorted,
    ({ check, state, message, remedy }) => [
      badge(DOCTOR.states[state] ?? state, state === "ok" ? "" : state === "fault" ? "bad" : "warn"),
      h(
        "div",
        null,
        h("strong", null, DOCTOR.check(check)),
        ` ${message}`,
        remedy && h("small", null, remedy),
      ),
    ],
    { class: "findings" },
  );
}
