// @ts-check
/** Creates a person or a service account, or edits one. */
import { creating, editing } from "../parts/declared.js";
import { invite } from "../parts/invitations.js";
import { allRoles } from "../parts/roles.js";
import { SERVICE_ACCOUNT, USER } from "../records/user.js";
import { USERS as T } from "../strings/users.js";

/** @param {Page} page */
export async function show(page) {
  const known = await allRoles(page);
  if (page.params.id) return editing(page, USER, known);
  const service = page.path.startsWith(SERVICE_ACCOUNT.view);
  const kind = service ? "service" : "person";
  creating(page, service ? SERVICE_ACCOUNT : USER, {
    title: service ? T.newService : T.newUser,
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
    to: service ? ({ id }) => `/users/${id}/keys` : undefined,
  });
}
