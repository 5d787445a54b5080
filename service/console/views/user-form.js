// @ts-check
/** Creates a person or a service account, or edits one. */
import { creating, editing } from "../parts/declared.js";
import { invite } from "../parts/invitations.js";
import { allRoles } from "../parts/roles.js";
import { SERVICE_ACCOUNT, USER, kindOf } from "../records/user.js";

/** @param {Page} page */
export async function show(page) {
  const known = await allRoles(page);
  if (page.params.id) return editing(page, USER, known);
  const kind = page.path.startsWith(SERVICE_ACCOUNT.view) ? "service" : "person";
  creating(page, kindOf({ kind }), {
    title: kindOf({ kind }).texts.add,
    record: { kind },
    known,
    body: ({ enabled, first, password, ...values }) => ({
      ...values,
      ...(first === "invite" && { invite: true }),
      ...(first === "password" && { password }),
      kind,
      status: enabled ? "enabled" : "disabled",
    }),
    done: (user) => user.invited && invite(page, user),
    to: kind === "service" ? ({ id }) => `/users/${id}/keys` : undefined,
  });
}
