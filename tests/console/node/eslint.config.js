// What tsc does not notice. Packages of rules are not used: each rule here is wanted.
const RULES = [
  "no-alert", "no-async-promise-executor", "no-cond-assign", "no-constant-condition", "no-control-regex", "no-debugger",
  "no-duplicate-imports", "no-else-return", "no-empty-character-class", "no-eval", "no-extend-native", "no-extra-bind",
  "no-implied-eval", "no-irregular-whitespace", "no-iterator", "no-labels", "no-lone-blocks", "no-loss-of-precision",
  "no-misleading-character-class", "no-new-func", "no-new-wrappers", "no-param-reassign", "no-proto",
  "no-prototype-builtins", "no-return-assign", "no-script-url", "no-self-assign", "no-self-compare", "no-sequences",
  "no-shadow-restricted-names", "no-sparse-arrays", "no-template-curly-in-string", "no-throw-literal",
  "no-unsafe-finally", "no-unsafe-optional-chaining", "no-unused-vars",
  "no-useless-backreference", "no-useless-catch", "no-useless-concat", "no-useless-escape", "no-useless-rename",
  "no-useless-return", "no-var", "object-shorthand", "prefer-const", "prefer-template", "use-isnan",
];

// Words that fit every value, and so name none: say `user`, `rows`, `expected`, `message` instead.
const DENIED_NAMES = ["one", "found", "wanted", "told", "said"];

export default [
  {
    files: ["service/console/**/*.js"],
    rules: {
      ...Object.fromEntries(RULES.map((name) => [name, "error"])),
      eqeqeq: ["error", "always", { null: "ignore" }],
      "id-denylist": ["error", ...DENIED_NAMES],
      "max-len": ["error", 120],
      "no-console": ["error", { allow: ["warn"] }],
      "no-unused-expressions": ["error", { allowShortCircuit: true, allowTernary: true }],
    },
  },
];
