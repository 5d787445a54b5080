"use strict";
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
  });
});
