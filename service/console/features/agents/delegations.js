// @ts-check
/** The agents that act for the caller: delegations are made and ended here. */
import { button, card, h } from "../../core/dom.js";
import { ask, tell } from "../../parts/dialog.js";
import { form } from "../../parts/form.js";
import { lasting } from "../../parts/lasting.js";
import { whole } from "../../parts/local.js";
import { toCopy } from "../../parts/once.js";
import { picker } from "../../parts/picker.js";
import { codesIn } from "../../parts/policy.js";
import { scopesOf } from "../../parts/scopes.js";
import { codes } from "../../parts/suggestions.js";
import { listing } from "../../parts/table.js";
import { coming, time } from "../../parts/time.js";
import { DELEGATIONS as T } from "./strings.js";

const DELEGATIONS = "/api/user/profile/delegations";
/** How long an agent acts unless the reader chooses otherwise: two hours, in seconds. */
const USUAL = 7200;
/** This service, among those at which an agent acts. */
const OWN = "portcullis";

/** @param {Page} page */
export async function show(page) {
  page.title(T.title);
  const [{ data }, { data: agents }, scopes] = await Promise.all([
    page.call("GET", DELEGATIONS),
    page.call("GET", "/api/user/profile/agents"),
    scopesOf(page),
  ]);
  /** @type {typeof data.items | null} */ let read = data.items;
  const list = listing(page, {
    caption: T.caption,
    columns: [
      { title: T.agent, cell: ({ agentName }) => agentName },
      { title: T.number, cell: ({ id }) => String(id) },
      { title: T.codes, cell: (delegation) => delegation.codes.join(", ") },
      { title: T.askMe, cell: ({ askMe }) => askMe.join(", ") || T.never },
      { title: T.services, kind: "wide", cell: ({ services }) => services.join(", ") },
      { title: T.until, cell: ({ until }) => coming(until) },
      { title: T.created, kind: "wide", cell: ({ createTime }) => time(createTime) },
    ],
    load: async () => {
      const items = read ?? (await page.call("GET", DELEGATIONS)).data.items;
      read = null;
      return whole(items);
    },
    buttons: (delegation) =>
      button(T.end, () => end(delegation), {
        "aria-label": T.endOf({ name: delegation.agentName }),
        "data-key": delegation.id,
      }),
    empty: h("p", { class: "empty" }, T.none),
  });
  /** The number of the newest delegation, to pass to the agent. */
  const made = h("div", { "aria-live": "polite" });
  if (!agents.items.length) {
    page.put(list, card(T.make, h("p", null, T.noAgents)));
    return;
  }
  const lifetime = Math.min(USUAL, data.maxExpiresIn);
  const only = agents.items.length === 1 ? agents.items[0].id : null;
  const blank = {
    agentId: only,
    codes: [],
    patterns: "",
    askMe: "",
    services: OWN,
    expiresIn: lifetime,
  };
  const create = form({
    before: h("p", { class: "help" }, T.about),
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
        value: only,
      },
      { name: "codes", label: T.codes, help: T.codesHelp, type: "custom", control: picker(scopes, []) },
      {
        name: "patterns",
        label: T.patterns,
        help: T.patternsHelp,
        code: true,
        wrap: codes(page, { several: true }),
      },
      {
        name: "askMe",
        label: T.askMe,
        help: T.askMeHelp,
        code: true,
        wrap: codes(page, { several: true }),
      },
      {
        name: "services",
        label: T.services,
        help: T.servicesHelp,
        code: true,
        required: true,
        value: OWN,
      },
      {
        name: "expiresIn",
        label: T.endsAfter,
        type: "custom",
        required: true,
        control: lasting("expiresIn", lifetime, data.maxExpiresIn),
      },
    ],
    submit: T.make,
    quiet: true,
    save: async ({ agentId, codes: chosen, patterns, askMe, services, expiresIn }) => {
      const body = {
        agentId,
        codes: [...new Set([...chosen, ...codesIn(patterns)])],
        askMe: codesIn(askMe),
        services: codesIn(services),
        expiresIn,
      };
      const { data: stored } = await page.call("POST", DELEGATIONS, { body });
      create.fill(blank);
      const shown = card(
        T.madeTitle({ name: stored.agentName }),
        h("p", null, T.madeText),
        toCopy(T.number, String(stored.id)),
      );
      made.replaceChildren(shown);
      shown.querySelector("input")?.focus();
      await list.reload();
    },
  });
  page.put(made, list, card(T.make, create));

  /** @param {import("../../types/api").DelegationToAgent} delegation */
  async function end({ id: delegationId, agentName }) {
    const ended = await ask({
      title: T.endTitle({ name: agentName }),
      text: T.endText,
      confirm: T.end,
      danger: true,
      act: () => page.call("DELETE", `${DELEGATIONS}/{delegationId}`, { path: { delegationId } }),
    });
    if (!ended) return;
    made.replaceChildren();
    tell(T.ended({ name: agentName }));
    await list.reload();
  }
}
