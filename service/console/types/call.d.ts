// What a request of the console takes and answers, by the types of its operation.
import type { Operations, Preview } from "./api";
import type { Answer, Options } from "../client/types.js";

/** The types of an operation: unknown ones where method or template is no literal, never where there is none. */
type Operation<M extends string, T extends string> = `${M} ${T}` extends keyof Operations
  ? Operations[`${M} ${T}`]
  : string extends M
    ? Loose
    : string extends T
      ? Loose
      : never;
type Loose = { path: any; query: any; body: any; answer: any };

/** A template that belongs to the method. */
type Template<M extends string, T extends string> = T &
  ([Operation<M, T>] extends [never] ? "is no operation" : unknown);

type Asked<O> = O extends { path: infer P; query: infer Q; body: infer B }
  ? Omit<Options, "path" | "query" | "body"> & {
      path?: { [N in keyof P]: string | number };
      query?: { [N in keyof Q]?: unknown };
      body?: B | string | Blob | FormData;
    }
  : never;
type Of<O, N extends string> = O extends Record<N, infer V> ? V : never;

export interface Call {
  <M extends string, T extends string>(
    method: M,
    template: Template<M, T>,
    options: Asked<Operation<M, T>> & { raw: true },
  ): Promise<Omit<Answer, "data"> & { data: Response }>;
  <M extends string, T extends string>(
    method: M,
    template: Template<M, T>,
    options: Asked<Operation<M, T>> & { dryRun: true },
  ): Promise<Omit<Answer, "data" | "preview"> & { data: Of<Operation<M, T>, "answer">; preview: Preview }>;
  <M extends string, T extends string>(
    method: M,
    template: Template<M, T>,
    options?: Asked<Operation<M, T>>,
  ): Promise<Omit<Answer, "data"> & { data: Of<Operation<M, T>, "answer"> }>;
}
