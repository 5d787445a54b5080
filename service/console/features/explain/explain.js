// @ts-check
/** Why a request, or a question about a code, is allowed or refused: a path through the layers of the policy. */
import { Problem } from "../../client/portcullis.js";
import { badge, card, h } from "../../core/dom.js";
import { assuranceStep, layerStep, refusalOf, subjectStep } from "./explained.js";
import { form } from "../../parts/form.js";
import {
  SPELLED,
  answering,
  asking,
  codesIn,
  holderFields,
  instantField,
  requestFields,
  showing,
} from "../../parts/policy.js";
import { remember } from "../../parts/remembered.js";
import { repairs, verdict } from "./repair.js";
import { accessPath, layersOf } from "../../pictures/access.js";
import { OWN, serviceOptions } from "../../parts/resources.js";
import { codes } from "../../parts/suggestions.js";
import { FORM } from "../../strings/form.js";
import { POLICY as T } from "../../strings/policy.js";

const NAMES = [
  "userName",
  "roleCode",
  "permissions",
  "method",
  "path",
  "service",
  "grant",
  "permission",
  "layer",
  "object",
  "revision",
  "at",
  "decisionId",
];

/** What of a question can be typed; with none of it, a decision is looked up by its id. */
const TYPED = ["userName", "roleCode", "permissions", "path", "grant", "permission", "object"];

/** The members of a question about something that takes several. @type {Record<string, string[]>} */
const ABOUT = { request: ["method", "path", "service"], object: ["layer", "object"] };

/** @typedef {import("../../types/api").Explained} Explained */

/** @param {Page} page */
export async function show(page) {
  const { query } = page;
  const asked = ["decisionId", "path", "grant", "permission", "object"].some((name) => query.get(name));
  page.title(T.tab.explain);
  const shown = question(page, await serviceOptions(page));
  if (!asked) return page.put(h("p", null, T.explainText), card("", shown));
  remember("explained"); // one of the first steps
  const answer = h("div", { "aria-live": "polite" });
  const whose = ["decisionId", "userName", "roleCode", "permissions"].some((name) => query.has(name));
  const folded = h(
    "details",
    { class: "asked", open: !whose },
    h("summary", null, T.question({ text: inOneLine(query) })),
    card("", shown),
  );
  page.put(folded, answer);
  answering(page, shown, answer, async () => {
    try {
      const { data } = await page.call("POST", "/api/policy/explain", { body: bodyOf(query) });
      return await path(page, data);
    } catch (problem) {
      folded.open = true; // what is wrong is said at the fields
      throw problem;
    }
  });
}

/** Return the question of an address in one line. @param {URLSearchParams} query */
function inOneLine(query) {
  return NAMES.map((name) => query.get(name)?.trim())
    .filter(Boolean)
    .join(" · ");
}

/** Return the question of an address. @param {URLSearchParams} query */
function bodyOf(query) {
  const given = NAMES.filter(
    (name) => query.get(name) && (name !== "service" || query.get(name) !== OWN),
  ).map((name) => [name, query.get(name)]);
  const body = Object.fromEntries(given);
  if (query.has("permissions")) body.permissions = codesIn(query.get("permissions"));
  if (body.revision) body.revision = Number(body.revision);
  return body;
}

/** @param {Page} page @param {[string, string][] | null} services */
function question(page, services) {
  const value = (/** @type {string} */ name) => page.query.get(name);
  const about = ["grant", "permission", "object"].find((name) => value(name)) ?? "request";
  const subject =
    ["userName", "roleCode", "permissions"].find((name) => page.query.has(name)) ??
    (value("path") ? "visitor" : "userName");
  const made = form({
    fields: [
      {
        name: "decisionId",
        label: T.decisionId,
        value: value("decisionId"),
        help: T.decisionIdHelp,
        attributes: SPELLED,
      },
      {
        name: "subject",
        label: T.subject,
        type: "select",
        required: true,
        options: Object.entries(T.subjects),
        value: subject,
      },
      ...holderFields(page, value, false),
      {
        name: "permissions",
        label: T.permissions,
        value: value("permissions"),
        help: T.permissionsHelp,
        attributes: SPELLED,
        wrap: codes(page, { several: true }),
      },
      {
        name: "about",
        label: T.about,
        type: "select",
        required: true,
        options: Object.entries(T.abouts),
        value: about,
      },
      ...requestFields(page, value, services, () => made.values(), false),
      { name: "grant", label: T.permission, value: value("grant"), attributes: SPELLED, wrap: codes(page) },
      {
        name: "permission",
        label: T.permission,
        value: value("permission"),
        attributes: SPELLED,
        wrap: codes(page),
      },
      {
        name: "layer",
        label: T.layer,
        type: "select",
        required: true,
        options: Object.entries(T.layers),
        value: value("layer") ?? "account",
      },
      { name: "object", label: T.object, value: value("object"), help: T.objectHelp, attributes: SPELLED },
      { name: "revision", label: T.past, type: "number", value: value("revision"), help: T.pastHelp },
      instantField(value("at")),
    ],
    submit: T.ask,
    quiet: true,
    save: (values) => {
      if (values.decisionId && TYPED.every((name) => !values[name]))
        return asking(page, { decisionId: values.decisionId });
      const names = [
        "decisionId",
        values.subject,
        ...(ABOUT[String(values.about)] ?? [values.about]),
        "revision",
        "at",
      ];
      const asked = Object.fromEntries(
        NAMES.filter((name) => names.includes(name)).map((name) => [name, values[name]]),
      );
      const missing = ["userName", "roleCode", "path", "grant", "permission", "object"].filter(
        (name) => name in asked && !asked[name],
      );
      if (missing.length)
        throw new Problem(422, { errors: missing.map((field) => ({ field, message: FORM.missing })) });
      if (asked.service === OWN) delete asked.service;
      // A holder of no code at all is not a visitor.
      if (asked.permissions === null) asked.permissions = " ";
      return asking(page, asked);
    },
  });
  const fit = () => {
    const { subject: who, about: what } = made.values();
    showing(made, {
      userName: who === "userName",
      roleCode: who === "roleCode",
      permissions: who === "permissions",
      method: what === "request",
      path: what === "request",
      service: what === "request",
      grant: what === "grant",
      permission: what === "permission",
      layer: what === "object",
      object: what === "object",
    });
  };
  made.classList.add("question");
  made.addEventListener("change", fit);
  fit();
  return made;
}

/** @param {Page} page @param {Explained} explained */
async function path(page, explained) {
  const { query } = page;
  const layers = layersOf(explained);
  const refused = explained.resource && !explained.resource.allowed && explained.endpoint;
  const service = explained.refusal?.service ?? query.get("service") ?? OWN;
  const allowed = explained.allowed && !explained.keptOut;
  const asked = {
    userName: query.get("userName") ?? explained.refusal?.userName,
    roleCode: query.get("roleCode"),
    request: requested(query, explained),
  };
  return h(
    "section",
    { class: "card explained", "aria-label": T.answer },
    h(
      "h2",
      null,
      badge(allowed ? T.allowed : T.denied, allowed ? "good" : "bad"),
      " ",
      h("span", null, verdict(explained, asked)),
    ),
    !allowed && (await repairs(page, explained, asked, query.get("decisionId"))),
    allowed && h("p", { class: "help" }, `${T.revision} ${explained.revision}`),
    explained.refusal && refusalOf(page, explained.refusal),
    explained.decisionMatches !== null &&
      !(explained.refusal && explained.decisionMatches) &&
      h(
        "p",
        { class: `note ${explained.decisionMatches ? "" : "warn"}` },
        explained.decisionMatches ? T.matches : explained.refusal ? T.heldOthers : T.matchesNot,
      ),
    explained.keptOut && h("p", { class: "note bad" }, T.keptOut),
    accessPath(explained, { user: asked.userName, role: asked.roleCode }, asked.request),
    explained.public && h("p", { class: "note" }, T.public),
    h(
      "ol",
      { class: "path", "aria-label": T.steps },
      subjectStep(query, explained),
      layers.map((layer) => layerStep(page, layer, layer.layer === "endpoint" && refused ? T.next : null)),
      explained.assurance && assuranceStep(explained.assurance),
      explained.resource &&
        !explained.endpoint &&
        service === OWN &&
        h("li", { class: "bad" }, h("h3", null, T.layers.endpoint), h("p", null, T.noRoute)),
      h("li", { class: allowed ? "good" : "bad" }, h("h3", null, allowed ? T.allowed : T.denied)),
    ),
  );
}

/** Return in words what is asked about. @param {URLSearchParams} query @param {Explained} explained */
function requested(query, explained) {
  const { refusal } = explained;
  const method = query.get("method") ?? refusal?.method;
  const path = query.get("path") ?? refusal?.path;
  if (method && path) return `${method} ${path}`;
  const asked = explained.asked ?? explained.grant ?? explained.permission ?? explained.endpoint;
  return asked?.object ?? explained.resource?.object ?? "";
}
