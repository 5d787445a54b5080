// What a page says in Latin letters, and with which digits. Tests call these functions in pages: `script` of visits.py.

/** What shows names, codes and texts of the service as they are. */
const AS_IT_IS = "code, pre, kbd, q, time, select[name=timeZone] option, [lang]:not(html), .path, .model, .lines, .initials";
const SAID = /^(aria-label|title|placeholder|alt)$/;

/** Return all texts of the page, attributes that are read out included. */
function texts() {
  const found = [document.title];
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const around = nodes.currentNode.parentElement;
    if (!around.closest(`${AS_IT_IS}, script, noscript, .misplaced`)) found.push(nodes.currentNode.data);
  }
  for (const one of document.body.querySelectorAll(`*:not(:is(${AS_IT_IS}), :is(${AS_IT_IS}) *)`)) {
    for (const { name, value } of one.attributes) if (SAID.test(name)) found.push(value);
  }
  return found.map((text) => text.trim()).filter(Boolean);
}

/** Return all that the page shows, times included. */
function all() {
  return document.body.innerText;
}
