// @ts-check
/** The agents that act for the caller: delegations are made and ended here. */
import { h } from "../../core/dom.js";
import { codeField, issuing } from "../../parts/issuing.js";
import { toCopy } from "../../parts/once.js";
import { codesIn } from "../../parts/policy.js";
import { coming, time } from "../../parts/time.js";
import { DELEGATIONS as T } from "./strings.js";
import { enumerated } from "../../strings/common.js";

const DELEGATIONS = "/api/user/profile/delegations";
/** How long an agent acts unless the reader chooses otherwise: two hours, in seconds. */
const USUAL = 7200;
/** This service, among those at which an agent acts. */
const OWN = "portcullis";

/** @param {Page} page */
export async function show(page) {
  page.title(T.title);
  const read = () => page.call("GET", DELEGATIONS);
  const [{ data: first }, { data: agents }] = await Promise.all([
    read(),
    page.call("GET", "/api/user/profile/agents"),
  ]);
  await issuing(page, {
    texts: T,
    first,
    read,
    columns: [
      { title: T.agent, cell: ({ agentName }) => agentName },
      { title: T.number, cell: ({ id }) => String(id) },
      { title: T.codes, cell: (delegation) => enumerated(delegation.codes) },
      { title: T.askMe, cell: ({ askMe }) => enumerated(askMe) || T.never },
      { title: T.services, kind: "wide", cell: ({ services }) => enumerated(services) },
      { title: T.until, cell: ({ until }) => coming(until) },
      { title: T.created, kind: "wide", cell: ({ createTime }) => time(createTime) },
    ],
    nameOf: ({ agentName }) => agentName,
    fields: [
      {
        name: "agentId",
        label: T.agent,
        type: "select",
        required: true,
        options: agents.items.map(({ id, userName, ownerName }) => [
          id,
          ownerName ? `${userName} (${T.ownedBy({ name: ownerName })})` : userName,
        ]),
        value: agents.items.length === 1 ? agents.items[0].id : null,
      },
    ],
    more: [
      codeField(page, { name: "askMe", label: T.askMe, help: T.askMeHelp }),
      {
        name: "services",
        label: T.services,
        help: T.servicesHelp,
        code: true,
        required: true,
        value: OWN,
      },
    ],
    usual: USUAL,
    make: ({ askMe, services, ...values }) =>
      page.call("POST", DELEGATIONS, {
        body: { ...values, askMe: codesIn(askMe), services: codesIn(services) },
      }),
    shown: ({ id }) => toCopy(T.number, String(id)),
    end: ({ id: delegationId }) =>
      page.call("DELETE", `${DELEGATIONS}/{delegationId}`, { path: { delegationId } }),
    instead: agents.items.length === 0 && h("p", null, T.noAgents),
  });
}
