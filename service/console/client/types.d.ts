// What the client takes and returns. A file of its own, so that browsers load none of it.

/**
 * What clients switch on, besides codes of extensions. `unreachable` and `elsewhere` are the client's own: there was no
 * answer, or it leads to another origin.
 */
export type Code =
  | "account_banned"
  | "account_disabled"
  | "approval_required"
  | "bad_request"
  | "conflict"
  | "csrf_failed"
  | "head_too_large"
  | "idempotency_key_reused"
  | "initial_password_expired"
  | "insufficient_user_authentication"
  | "internal_error"
  | "invalid_scim"
  | "link_invalid"
  | "login_failed"
  | "mail_not_configured"
  | "method_not_allowed"
  | "not_found"
  | "not_implemented"
  | "permission_denied"
  | "precondition_failed"
  | "proxy_refused"
  | "quota_exceeded"
  | "range_not_satisfiable"
  | "rate_limited"
  | "refresh_rejected"
  | "refresh_required"
  | "request_timeout"
  | "request_under_way"
  | "revision_unknown"
  | "revision_untrusted"
  | "second_factor_required"
  | "sign_in_failed"
  | "token_expired"
  | "token_invalid"
  | "too_large"
  | "unauthenticated"
  | "unavailable"
  | "unsupported_media_type"
  | "validation_failed"
  | "unreachable"
  | "elsewhere"
  | (string & {});

/** A problem document (RFC 9457). What else it has depends on `code`: the reference of errors lists all. */
export interface ProblemDocument {
  code?: Code;
  title?: string;
  detail?: string;
  /** The code of `detail` and its parameters, unless it is the title. */
  detailCode?: string;
  params?: Record<string, any>;
  status?: number;
  requestId?: string;
  /** What is wrong with each field. */
  errors?: Violation[];
  /** Of `permission_denied`: the layer that refuses. */
  layer?: string;
  /** Of `permission_denied`: any of these codes opens it; of `insufficient_user_authentication`: the demands. */
  required?: string[];
  /** By which an administrator finds the decision. */
  decisionId?: string;
  /** Of `refresh_rejected`. */
  reason?: string;
  /** Of `second_factor_required`, for `Session.answer`. */
  challenge?: string;
  /** How the user can prove it: `password`, `totp`, `recovery_code` or `passkey`. */
  methods?: string[];
  /** The options for a passkey, in JSON. */
  publicKey?: any;
  [member: string]: any;
}

/** A refusal, as the class `Problem`. `status` is 0 when there was no answer at all. */
export interface Problem extends Error {
  status: number;
  document: ProblemDocument;
  code: Code;
  title: string;
  detail: string;
  requestId: string | undefined;
  violations: Violation[];
  /** Seconds to wait, if the answer said so. */
  retryAfter: number | undefined;
  /** What was refused, such as `POST /api/user`, if `send` has sent it. */
  operation: string | undefined;
}

export interface Violation {
  field: string;
  message: string;
  row?: number;
  /** The code of `message`; in a row, that of the refusal. */
  code?: string;
  /** The code of `message` in a row. */
  detailCode?: string;
  /** The parameters of `message`. */
  params?: Record<string, any>;
}

export interface Options {
  /** The values of the template. */
  path?: Record<string, string | number>;
  /** Empty members are left out; lists are joined by commas. */
  query?: Record<string, any>;
  /** Text, Blob and FormData are sent as they are, anything else as JSON. */
  body?: any;
  /** The content type of a body that is sent as it is. */
  type?: string;
  /** The ETag that the record must still have. */
  ifMatch?: string | null;
  /** Check everything and save nothing. */
  dryRun?: boolean;
  /** Return the `Response` as `data`, for downloads. */
  raw?: boolean;
  /** The `Idempotency-Key`; by default a new one for each POST that takes one. */
  key?: string;
  signal?: AbortSignal;
  /** Is told how many bytes of the body have been sent. */
  progress?: (sent: number, all: number) => void;
  headers?: Record<string, string>;
  /** Where the service is; by default on the origin of the page. */
  base?: string;
}

export interface Answer {
  data: any;
  /** What a dry run says would change, as `Preview`. */
  preview: any;
  etag: string | null;
  status: number;
  headers: Headers;
}

/** An event about the caller's own account: `connected`, `permissions`, `sessions`, `end`, or a kind such as `role.given`. */
export interface OwnEvent {
  event: string;
  /** The id of the event; empty for an event without an id. */
  id: string;
  /**
   * Of `connected` and `permissions`: `roles` and `permissions`; of `sessions`: the live sessions; of `end`: the
   * `reason`; of other events: `id`, `timestamp` and `data`.
   */
  data: any;
  /** Milliseconds before the next connection; 0 if the event does not set it. */
  retry: number;
}

/** What proves who asks. In cookie mode both tokens are empty. */
export interface Proof {
  access: string;
  refresh: string;
  /** When it is renewed, in milliseconds. */
  until: number;
  /** When it was obtained, in milliseconds: the newest counts in all tabs. */
  since: number;
  /** Whose it is, once that is known. */
  user?: number | undefined;
}

export interface Me {
  id: number;
  name: string;
  nickName: string;
  avatar: string | null;
  email: string | null;
  /** The language of the account, such as `zh-CN`; null for none. */
  language: string | null;
  /** The time zone of the account, such as `Asia/Shanghai`; null for none. */
  timeZone: string | null;
  roles: string[];
  /** The codes that are held, wildcards included. */
  permissions: string[];
}

/** What a session asks of the page. */
export interface Hooks {
  /** Sign in again over what is shown, or wait until another tab has: `elsewhere`. Rejects when the reader gives up. */
  signIn: (problem: Problem | null, elsewhere: Promise<unknown>) => Promise<void>;
  /** Prove more, as a refusal demands: true once that is done. */
  stepUp: (problem: Problem) => Promise<boolean>;
  /** Show that the session was ended; `elsewhere` settles once another tab has signed in. */
  ended: (elsewhere: Promise<unknown>) => void;
  /** Begin anew, for another user than that of `identify`; without it, the page is loaded again. */
  restarted: () => void;
  /** Show rights that may have changed. */
  changed: () => void;
}

/** A proof by one of the `methods` of a refusal. */
export interface Given {
  method: "password" | "totp" | "recovery_code" | "passkey";
  password?: string;
  /** Of an app, or of the list of recovery codes. */
  code?: string;
  /** What a passkey has answered. */
  credential?: any;
}

export interface SessionOptions {
  /** Where the service is, such as `https://portcullis.example.com`; by default on the origin of the page. */
  base?: string;
  /** How the device of this browser is called in the list of sessions. */
  device?: string;
  /** The name of the header of the access token and what stands before the token, if the service has others. */
  header?: [name: string, prefix: string];
  hooks?: Partial<Hooks>;
}
