// @ts-check
/** The way of a caller to a request, as an explanation tells it: user, roles, codes, lines, request. */
import { PICTURES as T } from "../strings/pictures.js";
import { POLICY } from "../strings/policy.js";
import { demandsText } from "../strings/step-up.js";
import { path } from "./path.js";

/** @typedef {import("../types/api").Explained} Explained */
/** @typedef {import("../types/api").Layer} Layer */

/** Return the layers that were asked, in their order. @param {Explained} explained @returns {Layer[]} */
export function layersOf({ resource, endpoint, grant, permission, asked }) {
  return [resource, endpoint, grant, permission, asked].filter((layer) => layer !== null);
}

/**
 * Return the picture of an explanation.
 * @param {Explained} explained
 * @param {{user?: string | null, role?: string | null}} subject Who asks; neither is a visitor, or a holder of codes.
 * @param {string} request What is asked for.
 */
export function accessPath(explained, { user, role }, request) {
  const { permissions } = explained;
  const layers = layersOf(explained);
  const allowed = explained.allowed && !explained.keptOut;
  const who = user ?? (role ? null : permissions ? POLICY.holder : POLICY.visitor);
  /** @type {Map<string, import("./path.js").Edge>} */ const edges = new Map();
  const connect = (/** @type {import("./path.js").Edge} */ edge) =>
    edges.set(`${edge.from}\n${edge.to}`, edge);
  /** @type {Set<string>} */ const roles = new Set(role ? [role] : []);
  /** @type {Set<string>} */ const codes = new Set();
  const start = who === null ? `role:${role}` : "who";
  for (const layer of layers) {
    const line = `line:${layer.layer}`;
    for (const { code, predicate, origins } of layer.fired) {
      codes.add(code);
      connect({
        from: `code:${code}`,
        to: line,
        kind: "good",
        text: POLICY.rows[predicate] ?? predicate,
      });
      for (const { roleCode } of origins) {
        roles.add(roleCode);
        connect({ from: `role:${roleCode}`, to: `code:${code}`, text: T.gives });
        if (who !== null) connect({ from: "who", to: `role:${roleCode}`, text: T.has });
      }
      if (!origins.length) connect({ from: start, to: `code:${code}`, text: T.holds });
    }
    if (!layer.fired.length)
      connect({
        from: start,
        to: line,
        kind: layer.allowed ? "good" : "bad",
        text: POLICY.reasons[layer.reason],
      });
    connect({
      from: line,
      to: "request",
      kind: layer.allowed ? "good" : "bad",
      text: layer.allowed ? POLICY.allowed : POLICY.denied,
    });
  }
  const proof = explained.assurance && proofOf(explained.assurance);
  if (proof) {
    const { kind, demand, met } = proof;
    connect({ from: start, to: "proof", kind, text: `${demand}: ${met ? POLICY.met : POLICY.notMet}` });
    connect({ from: "proof", to: "request", kind, text: met ? POLICY.allowed : POLICY.denied });
  }
  const outcome = allowed ? POLICY.allowed : POLICY.denied;
  return path(
    T.access({ who: who ?? POLICY.role({ name: role ?? "" }), request, outcome }),
    [
      { title: T.who, boxes: who === null ? [] : [{ key: "who", text: who }] },
      { title: POLICY.roles, boxes: [...roles].map((text) => ({ key: `role:${text}`, text })) },
      { title: POLICY.permissions, boxes: [...codes].map((text) => ({ key: `code:${text}`, text })) },
      {
        title: POLICY.lines,
        boxes: [
          ...layers.map((layer) => ({
            key: `line:${layer.layer}`,
            text: lineOf(layer),
            kind: layer.allowed ? "good" : "bad",
          })),
          ...(proof ? [{ key: "proof", text: proof.text, kind: proof.kind }] : []),
        ],
      },
      { title: outcome, boxes: [{ key: "request", text: request, kind: allowed ? "good" : "bad" }] },
    ],
    [...edges.values()],
  );
}

/**
 * Return the demand on authentication that decides, and whether it is met; null where nothing is demanded.
 * @param {import("../types/api").Assurance} assurance
 */
function proofOf({ met, resource, endpoint }) {
  const layer = [resource, endpoint]
    .filter((layer) => layer !== null)
    .map((layer) => ({ met: layer.allowed, words: layer.lines.map((line) => line.split(", ").pop() ?? "") }))
    .find((layer) => layer.met === met && !layer.words.includes("@anyone"));
  if (!layer) return null;
  const [kind, mark] = met ? ["good", "✓"] : ["bad", "✗"];
  const demand = demandsText(layer.words) || POLICY.closedDemand;
  return { met, kind, demand, text: `${mark} ${POLICY.layers["assurance"]}` };
}

/** @param {Layer} layer */
function lineOf({ layer, allowed, line }) {
  const words = line === null ? POLICY.denied : (line.split(", ").pop() ?? "");
  return `${allowed ? "✓" : "✗"} ${POLICY.layers[layer] ?? layer}: ${words}`;
}
