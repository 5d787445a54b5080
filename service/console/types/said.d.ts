/** Texts as the scripts read them. Those of each file are in `texts.d.ts`, which is made from the English ones. */

export type Value = string | number | boolean | null | undefined;

/** An ICU message with arguments of these names. */
export type Message<V> = string & { readonly arguments: V };

/** Texts of which each message is a function that fills its arguments in. */
export type Said<T> = {
  readonly [K in keyof T]: T[K] extends Message<infer V>
    ? (...values: {} extends V ? [] : [V]) => string
    : T[K] extends string | readonly unknown[] | ((...values: any) => unknown) | ((...values: any) => unknown)
      ? T[K]
      : Said<T[K]>;
};
