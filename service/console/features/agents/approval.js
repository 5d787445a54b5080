// @ts-check
/** One call of an agent that waits for the decision of the caller. */
import { button, card, definition, h, link } from "../../core/dom.js";
import { ask, tell } from "../../parts/dialog.js";
import { attempt } from "../../parts/preview.js";
import { coming, time } from "../../parts/time.js";
import { bodyText, callLine } from "./call.js";
import { APPROVALS as T } from "./strings.js";

const LIST = "/account/approvals";

/** @param {Page} page */
export async function show(page) {
  const [approvals, delegations] = await Promise.all([
    page.call("GET", "/api/user/profile/approvals"),
    page.call("GET", "/api/user/profile/delegations"),
  ]);
  const call = approvals.data.items.find(({ id }) => String(id) === page.params.id);
  page.crumbs([LIST, T.title]);
  if (!call) {
    page.title(T.over);
    page.put(h("p", null, T.overText), h("p", null, link(LIST, T.title)));
    return;
  }
  const delegation = delegations.data.items.find(({ id }) => id === call.delegationId);
  page.title(T.callOf({ name: call.agentName }));
  page.put(
    card(
      T.call,
      h("p", null, callLine(call)),
      definition([
        [T.agent, call.agentName],
        [T.asked, time(call.createTime, { ago: true })],
        [T.until, coming(call.until)],
        [T.delegationUntil, coming(delegation?.until)],
      ]),
    ),
    card(T.body, call.body === null ? h("p", null, T.noBody) : bodyText(call.body)),
    h("p", { class: "help" }, T.exactly),
    h(
      "div",
      { class: "buttons" },
      button(T.once, () => attempt(T.once, () => decide("once", T.allowed)), { kind: "primary" }),
      button(T.always, always),
      button(T.refuse, () => attempt(T.refuse, () => decide("refused", T.refused)), { kind: "danger" }),
    ),
  );

  async function always() {
    const act = () => send("always");
    if (!(await ask({ title: T.alwaysTitle, text: T.alwaysText, confirm: T.always, danger: true, act })))
      return;
    leave(T.allowed);
  }

  /** @param {import("../../types/api").ApprovalVerdict} decision @param {string} text */
  async function decide(decision, text) {
    await send(decision);
    leave(text);
  }

  /** Decide about the call as it is shown here. @param {import("../../types/api").ApprovalVerdict} decision */
  function send(decision) {
    const { id, digest } = /** @type {import("./call.js").Call} */ (call);
    const [path, body] = [{ approvalId: id }, { decision, digest }];
    return page.call("POST", "/api/user/profile/approvals/{approvalId}", { path, body });
  }

  /** @param {string} text */
  function leave(text) {
    tell(text);
    page.go(LIST);
  }
}
