// @ts-check
/** The API keys of the own account: made here, shown once, and revoked. */
import { issuing } from "../../parts/issuing.js";
import { COLUMNS } from "../../parts/keys.js";
import { toCopy } from "../../parts/once.js";
import { PERSONAL_KEYS as T } from "./strings.js";

const KEYS = "/api/user/profile/keys";
/** How long a key lasts unless the reader chooses otherwise: 90 days, in seconds. */
const USUAL = 7_776_000;

/** @param {Page} page */
export async function show(page) {
  page.title(T.title);
  const read = () => page.call("GET", KEYS);
  const first = (await read()).data;
  await issuing(page, {
    texts: first.allowed ? T : { ...T, about: T.barred },
    first,
    read,
    columns: COLUMNS,
    nameOf: ({ name }) => name,
    fields: [{ name: "name", label: T.name, help: T.nameHelp, required: true, most: 64 }],
    usual: USUAL,
    make: ({ codes: scopes, ...values }) => page.call("POST", KEYS, { body: { ...values, scopes } }),
    shown: ({ key }) => toCopy(T.key, key),
    end: ({ id: keyId }) => page.call("DELETE", `${KEYS}/{keyId}`, { path: { keyId } }),
  });
}
