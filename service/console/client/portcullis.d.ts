/**
 * Send one request, and return its answer; throws `Problem`, and the reason of `signal` when it is aborted.
 * @param {string} method
 * @param {string} template Such as `/api/user/{id}`.
 * @param {Options} [options]
 * @returns {Promise<Answer>}
 */
export function send(method: string, template: string, options?: Options): Promise<Answer>;
/**
 * Return the address of a request. Throws `Problem` for a value that a browser would take for a step up.
 * @param {string} template
 * @param {Options} [options]
 */
export function address(template: string, { path, query, dryRun }?: Options): string;
/** Return a new `Idempotency-Key`: 128 random bits. */
export function newKey(): string;
/**
 * True if one of the codes that somebody holds grants `code`: itself, `*` everything, `a:*` all below `a`, and a `*`
 * in the middle stands for one segment. This is for what a page shows; the service decides each request.
 * @param {Iterable<string>} held
 * @param {string} code A code without wildcards; `@` words are granted by nothing.
 */
export function grants(held: Iterable<string>, code: string): boolean;
/**
 * True if a refusal says that the session is of an initial password: nothing else is open before it is changed.
 * @param {unknown} problem
 */
export function isInitial(problem: unknown): boolean;
/**
 * A refusal of the API, with the members of its problem document in `document`. `status` is 0 when there was no answer
 * at all.
 */
export class Problem extends Error {
    /**
     * Puts the texts of a refusal into another language, by their codes and parameters, before it is thrown.
     * @type {((problem: Problem) => Promise<void>) | undefined}
     */
    static translate: ((problem: Problem) => Promise<void>) | undefined;
    /**
     * @param {number} status
     * @param {ProblemDocument} document
     * @param {number} [retryAfter] Seconds to wait, if the answer said so.
     */
    constructor(status: number, document: ProblemDocument, retryAfter?: number);
    status: number;
    document: ProblemDocument;
    /** @type {Code} */ code: Code;
    /** @type {string} */ title: string;
    /** @type {string} */ detail: string;
    /** @type {string | undefined} */ requestId: string | undefined;
    /** @type {Violation[]} */ violations: Violation[];
    retryAfter: number | undefined;
    /** What was refused, such as `POST /api/user`, if `send` has sent it. @type {string | undefined} */
    operation: string | undefined;
}
/**
 * The session of this browser. Tokens are in memory only and shared between its tabs: a new tab asks the others, and
 * one tab at a time refreshes. In cookie mode the cookies have them, and no tab sees them.
 */
export class Session {
    /** @param {SessionOptions} [options] */
    constructor({ base, device, header, hooks }?: SessionOptions);
    /** @type {Hooks} */ hooks: Hooks;
    /** Who the caller is, once `identify` has asked. @type {Me | null} */ me: Me | null;
    /** What the caller may send, such as `GET /api/user/{id}`. @type {Set<string>} */ operations: Set<string>;
    /** The name under which the tabs of this browser share the session. @type {string} */ name: string;
    /** Return true if this browser has a session; asks the other tabs for theirs. */
    find(): Promise<boolean>;
    /**
     * Log in; throws `Problem`: that of `second_factor_required` has the `challenge` and `methods` for `answer`.
     * @param {string} userName
     * @param {string} password
     */
    logIn(userName: string, password: string): Promise<void>;
    /**
     * Answer the challenge of a login by a second factor; throws `Problem`.
     * @param {string} challenge
     * @param {Given} proof
     */
    answer(challenge: string, proof: Given): Promise<void>;
    /**
     * Open a session by a step of a login; throws `Problem`.
     * @param {"/api/auth/login" | "/api/auth/login/second-factor" | "/api/auth/login/passkey"
     *   | "/api/auth/oidc/token"} step
     * @param {Record<string, any>} body
     */
    signIn(step: "/api/auth/login" | "/api/auth/login/second-factor" | "/api/auth/login/passkey" | "/api/auth/oidc/token", body: Record<string, any>): Promise<void>;
    /** Replace the tokens, which say of the session what was true when they were issued. */
    refresh(): Promise<void>;
    /** End the session of this device, or with `everywhere` all sessions of the user. */
    signOut(everywhere?: boolean): Promise<void>;
    /** Forget the session in all tabs: it has been ended. */
    end(): void;
    /**
     * Prove again who the caller is, as a refusal demands; the session has the new tokens in all tabs. Throws `Problem`.
     * @param {Given} given
     */
    prove(given: Given): Promise<void>;
    /**
     * Send a request with the session; renews tokens that have expired, asks for a stronger or more recent authentication
     * where that is demanded, and for a login when the session is over. Then the request is sent again. Throws `Problem`.
     * @param {string} method
     * @param {string} template Such as `/api/user/{id}`.
     * @param {Options} [options]
     * @returns {Promise<Answer>}
     */
    call: (method: string, template: string, options?: Options) => Promise<Answer>;
    /** Read who the caller is, what they may call. */
    identify(): Promise<void>;
    /** Return the id of the user who has signed in; while that can't be found out, nobody has. Throws `Problem`. */
    whose(): Promise<any>;
    /**
     * Begin anew with the session that there is: what is shown, and what waits to be sent, is of another user. Never
     * returns.
     * @returns {Promise<any>}
     */
    restart(): Promise<any>;
    /** True if the caller holds a code that grants `code`, such as `orders:order:read`. @param {string} code */
    may(code: string): boolean;
    /**
     * Return the caller's tree of Menus and codes. Throws `Problem`.
     * @param {string} [language] Of the titles, such as `zh-CN`; by default that of the account.
     * @returns {Promise<any>} As of `GET /api/menu/mine`.
     */
    menus(language?: string): Promise<any>;
    /**
     * True if the caller may send such requests, such as `GET /api/user/{id}`, as far as permissions go.
     * @param {string | undefined} operation
     */
    mayCall(operation: string | undefined): boolean;
    /** Return the device type of this browser, made up once: only this name is stored, never a token. */
    device(): string;
    /** Wait until there is a new proof, for at most `patience` ms. @param {number} patience */
    change(patience: number): Promise<any>;
    #private;
}
import type { Options } from "./types.js";
import type { Answer } from "./types.js";
import type { ProblemDocument } from "./types.js";
import type { Code } from "./types.js";
import type { Violation } from "./types.js";
import type { Hooks } from "./types.js";
import type { Me } from "./types.js";
import type { Given } from "./types.js";
import type { SessionOptions } from "./types.js";
