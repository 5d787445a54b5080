// @ts-check
/**
 * Passkeys (WebAuthn Level 3) of the browser. The API has their options and answers in JSON; browsers that do not
 * translate them get this done here.
 */
import { Problem } from "../client/portcullis.js";

/** What the errors of a browser mean: codes of `TROUBLE`. @type {Record<string, string>} */
const MEANING = { NotAllowedError: "passkey_not_used", InvalidStateError: "passkey_known" };

/** Ask for a passkey, and return its answer. Throws `Problem`. @param {Record<string, any>} options */
export function use(options) {
  const publicKey =
    PublicKeyCredential.parseRequestOptionsFromJSON?.(/** @type {any} */ (options)) ??
    /** @type {any} */ ({
      ...options,
      challenge: bytes(options.challenge),
      allowCredentials: described(options.allowCredentials),
    });
  return answered(navigator.credentials.get({ publicKey }));
}

/** Make a passkey, and return what proves it. Throws `Problem`. @param {Record<string, any>} options */
export function make(options) {
  const publicKey =
    PublicKeyCredential.parseCreationOptionsFromJSON?.(/** @type {any} */ (options)) ??
    /** @type {any} */ ({
      ...options,
      challenge: bytes(options.challenge),
      user: { ...options.user, id: bytes(options.user.id) },
      excludeCredentials: described(options.excludeCredentials),
    });
  return answered(navigator.credentials.create({ publicKey }));
}

/** @param {Promise<Credential | null>} asked @returns {Promise<any>} */
async function answered(asked) {
  let credential;
  try {
    credential = /** @type {any} */ (await asked);
  } catch (error) {
    const name = error instanceof DOMException ? error.name : "";
    throw new Problem(0, { code: MEANING[name] ?? "passkey_failed" });
  }
  return credential.toJSON ? credential.toJSON() : written(credential);
}

/** Return a credential in JSON, as its `toJSON` does. @param {any} credential */
function written(credential) {
  const { id, rawId, type, authenticatorAttachment, response } = credential;
  const members = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
  const given = members.filter((name) => response[name]).map((name) => [name, text(response[name])]);
  const transports = response.getTransports?.();
  return {
    id,
    rawId: text(rawId),
    type,
    authenticatorAttachment,
    clientExtensionResults: credential.getClientExtensionResults(),
    response: { ...Object.fromEntries(given), ...(transports && { transports }) },
  };
}

/** @param {{id: string}[] | undefined} credentials */
function described(credentials) {
  return credentials?.map((credential) => ({ ...credential, id: bytes(credential.id) }));
}

/** Return the bytes of base64url. @param {string} encoded */
function bytes(encoded) {
  const plain = atob(encoded.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (character) => character.charCodeAt(0));
}

/** Return bytes as base64url. @param {ArrayBuffer} buffer */
function text(buffer) {
  const plain = btoa(String.fromCharCode(...new Uint8Array(buffer)));
  return plain.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
