"use strict";

const REFERENCE = /"\$ref":"#\/components\/(\w+)\/([^"]+)"/g;

/** Return a document with one part of another one, and with all components that the part refers to. */
function partOf({ openapi, info, servers, components, ...document }, path) {
  const whole = { ...document, components };
  const part = path.reduce((value, name) => value?.[name], whole);
  const small = { openapi, info, servers, components: {} };
  const last = path.at(-1);
  const place = path.slice(0, -1).reduce((value, name) => (value[name] ??= {}), small);
  place[last] = part;
  for (const pending = [part]; pending.length > 0; ) {
    for (const [, kind, name] of JSON.stringify(pending.pop() ?? null).matchAll(REFERENCE)) {
      const known = (small.components[kind] ??= {});
      if (name in known) continue;
      known[name] = components[kind]?.[name];
      pending.push(known[name]);
    }
  }
  return small;
}

/** Resolve the references of a part alone: Swagger UI would resolve those of the whole document, which takes seconds. */
function resolvingParts(system) {
  const { resolveSubtree } = system.fn;
  return {
    fn: {
      resolveSubtree: (document, path, options) => resolveSubtree(partOf(document, path), path, options),
    },
  };
}

window.addEventListener("load", () => {
  window.SwaggerUIBundle({
    url: "/docs/openapi.json",
    dom_id: "#swagger-ui",
    deepLinking: true,
    docExpansion: "none",
    defaultModelsExpandDepth: -1,
    persistAuthorization: false,
    validatorUrl: null,
    presets: [window.SwaggerUIBundle.presets.apis],
    plugins: [resolvingParts],
  });
});
