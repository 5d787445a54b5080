// @ts-check
/** Registers another service, or edits how it matches paths. */
import { creating, editing } from "../parts/declared.js";
import { SERVICE } from "../records/service.js";
import { SERVICES as T } from "../strings/services.js";

/** @param {Page} page */
export async function show(page) {
  if (page.params.id) await editing(page, SERVICE);
  else creating(page, SERVICE, { title: T.add });
}
