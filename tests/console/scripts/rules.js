// Rules that hold for all views and dialogs of the console. Tests call these functions in its pages: `script` of visits.py.

/** Wait until the page has followed its size: what scrolls now can be reached by keys. */
function drawn() {
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}

/**
 * Return what breaks a rule: codes broken letter by letter, a page longer than its content or wider than the window,
 * values that are none, text that hangs out of its box, markup of others, tab stops that lead back, a record without a
 * title or a way back.
 */
function faults() {
  const faults = [];
  const main = document.querySelector("main");
  const top = [...document.querySelectorAll("dialog[open]")].at(-1) ?? main;
  const name = (one) => `${one.localName}.${one.className}: ${(one.textContent || "").trim().slice(0, 60)}`;
  const shown = (one) => one.getClientRects().length > 0 && one.checkVisibility({ visibilityProperty: true });
  const every = (selector) => [...top.querySelectorAll(selector)].filter(shown);
  const lines = (one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    const tops = [...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => top);
    return tops.sort((a, b) => a - b).filter((at, place) => place === 0 || at > tops[place - 1] + 6).length;
  };

  for (const code of every(":is(td, th, dd) :is(code, .path, a)")) {
    const cell = code.closest("td, th, dd");
    if (cell.getBoundingClientRect().width < 90 && lines(code) > 2) faults.push(`broken up: ${name(code)}`);
  }

  const end = Math.ceil((document.querySelector(".layout")?.getBoundingClientRect().bottom ?? 0) + scrollY);
  const { scrollHeight: long } = document.documentElement;
  if (long > Math.max(innerHeight, end)) faults.push(`scrolls into nothing: ${long} of ${end}`);

  const odd = /\b(?:undefined|null|NaN|Infinity|Invalid Date)\b|\[object /;
  const said = [document.title];
  const texts = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    if (!texts.currentNode.parentElement.closest("pre, .model, .lines")) said.push(texts.currentNode.data);
  }
  for (const one of top.querySelectorAll("*")) {
    for (const { name, value } of one.attributes)
      if (/^(aria-label|title|placeholder|alt|href|value|datetime)$/.test(name)) said.push(value);
    if (one.matches("input:not([type=checkbox], [type=radio])")) said.push(one.value);
  }
  for (const text of said) if (odd.test(text)) faults.push(`says ${text.trim().slice(0, 80)}`);

  const boxes = ".card, .note, .trouble, .message, .badge, .button, dd, .filter, .dialog-body, h1";
  for (const one of [top, ...every(boxes)]) {
    const { display, overflowX } = getComputedStyle(one);
    const cut = overflowX === "hidden" && one.title; // which says all of it when pointed at
    if (display === "inline" || cut) continue;
    if (one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0)
      faults.push(`hangs out by ${one.scrollWidth - one.clientWidth}: ${name(one)}`);
  }
  for (const one of every("input, select, textarea")) {
    const [own, around] = [one, one.parentElement].map((each) => each.getBoundingClientRect());
    const out = own.right > around.right + 1 || own.left < around.left - 1;
    if (own.width > 4 && out) faults.push(`wider than its place: ${name(one)}`);
  }
  for (const one of every(".filter")) {
    const { width } = one.getBoundingClientRect();
    if (innerWidth > 640 && width > 320) faults.push(`a filter of ${Math.round(width)} px: ${name(one)}`);
  }

  for (const one of every(".page > .body > .listing > .scroll.list")) {
    const out = one.scrollWidth - one.clientWidth;
    if (innerWidth >= 1024 && out > 1) faults.push(`cuts off ${out} of the list ${one.ariaLabel}`);
  }

  if (document.documentElement.scrollWidth > innerWidth) faults.push("scrolls in both directions");
  if (foreign() > 0) faults.push("has markup of others");
  // A narrow screen would tear apart what is not in one item.
  for (const cell of every(".listing .table:not(.keep) tbody :is(th, td):not(.row-actions, .box)")) {
    if (top === main && cell.childNodes.length > 1) faults.push(`holds several items: ${name(cell)}`);
  }
  for (const stops of astray()) faults.push(`tab stops astray: ${stops}`);

  const heading = main?.querySelector("h1")?.textContent ?? "";
  if (heading === "" || heading === "Portcullis") faults.push(`is titled "${heading}"`);
  if (main?.querySelector(".page > .body > .trouble") && !main.querySelector(".crumbs a"))
    faults.push("shows trouble, and no way back");
  if (/Nothing was saved/.test(main?.querySelector(".page > .body > .trouble")?.textContent))
    faults.push("says that nothing was saved, of what was only read");
  return faults;
}

/** Return how much markup of others is in the page. */
function foreign() {
  return document.querySelectorAll("main :is(img, iframe, base, style), dialog img:not(.qr), body script").length;
}

/** Return the tab stops after which the next one of the same part of the page is above or to the left. */
function astray() {
  const place = (one) => one.closest("dialog[open], .acts > ul, .menu > ul, #messages, #side, .top, main");
  const top = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  const mirrored = document.documentElement.dir === "rtl"; // there the next one is to the left
  const box = (one, within) => {
    const own = one.getClientRects()[0];
    const hidden = own.width * own.height < 5;
    let { left, right, top, bottom } = hidden ? (one.labels?.[0] ?? one).getBoundingClientRect() : own;
    for (let around = one.parentElement; around !== within; around = around.parentElement) {
      if (getComputedStyle(around).overflowY === "visible") continue;
      const edge = around.getBoundingClientRect(); // what is scrolled away is at the edge
      [left, right] = [left, right].map((x) => Math.min(Math.max(x, edge.left), edge.right));
      [top, bottom] = [top, bottom].map((y) => Math.min(Math.max(y, edge.top), edge.bottom));
    }
    return { left: mirrored ? -right : left, right: mirrored ? -left : right, top, bottom, height: bottom - top };
  };
  const name = (one) => `${one.localName} ${one.ariaLabel ?? (one.labels?.[0] ?? one).textContent}`;
  const all = top.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]");
  const stops = [...all].filter((one) => one.tabIndex >= 0 && !one.disabled && !one.matches(".skip")
    && one.getClientRects().length > 0 && one.checkVisibility({ visibilityProperty: true }));
  return stops.slice(1).flatMap((next, at) => {
    const before = stops[at];
    if (place(before) !== place(next) || before.contains(next)) return [];
    let within = before.parentElement;
    while (!within.contains(next)) within = within.parentElement;
    const [one, two] = [box(before, within), box(next, within)];
    const shared = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
    const level = shared > Math.min(one.height, two.height) / 2;
    // A sentence in Latin letters runs to the right on a page from right to left too (UAX #9).
    const words = mirrored && [before, next].every((each) => getComputedStyle(each).display === "inline");
    if (level && words) return [];
    // Another column begins above, but beside what was before.
    const back = level ? two.right <= one.left + 1 : two.bottom <= one.top + 1 && two.left < one.right;
    return back ? [`${name(before)} -> ${name(next)}`] : [];
  });
}

/**
 * Go to a view, and return once all of it is shown. What is shown stays until that is there, and may have the same path
 * with another query.
 */
async function show(address) {
  if (location.hash !== `#${address}`) {
    for (const { dataset } of document.querySelectorAll("main .page")) delete dataset.path;
    location.hash = address;
  }
  const path = JSON.stringify(address.split("?")[0]);
  const until = performance.now() + 15_000;
  const isShown = () => {
    const page = document.querySelector(`main .page[data-path=${path}]`);
    return page?.querySelector("h1")?.textContent && !document.querySelector("main :is([aria-busy=true], .loading)");
  };
  while (!isShown()) {
    if (performance.now() > until) throw new Error(`${address} is not shown: ${document.body.innerText}`);
    await new Promise((drawn) => requestAnimationFrame(drawn));
  }
}

/** Return what is judged: the whole page, or only what differs from view to view. */
function judged(whole) {
  const shown = whole ? [] : [...document.querySelectorAll("main, dialog[open], #messages")];
  return shown.length > 0 ? shown : [document.body];
}

/**
 * Return the violations of rules of axe and the looks that have passed, or null if the page has no axe yet. What
 * surrounds all views is judged only if that has not been done: `isFrameJudged`. In the dark, only contrast is judged.
 */
async function barriers({ isFrameJudged, known, rules, dark = false }) {
  if (!("axe" in window)) return null;
  const hasFrame = document.querySelector(".layout") !== null;
  const whole = !(hasFrame && isFrameJudged);
  const judgedLooks = await looks({ whole, known, rules: dark ? ["color-contrast"] : SLOW });
  if (dark) return judgedLooks;
  const { violations } = await axe.run(whole ? document : { include: judged(whole) }, {
    runOnly: rules,
    rules: Object.fromEntries(SLOW.map((rule) => [rule, { enabled: false }])),
    resultTypes: ["violations"],
    selectors: false,
    preload: false,
    iframes: false,
  });
  return { ...judgedLooks, violations: [...violations, ...judgedLooks.violations], hasFrame };
}

/** Rules of axe that take milliseconds for each element. */
const SLOW = ["color-contrast", "target-size"];

/** Return a short text for a long one. */
function digest(text) {
  let [left, right] = [1, 2];
  for (let place = 0; place < text.length; place += 1) {
    left = Math.imul(left ^ text.charCodeAt(place), 0x9e3779b1);
    right = Math.imul(right ^ text.charCodeAt(place) ^ (right >>> 15), 0x85ebca6b);
  }
  return `${left},${right}`;
}

/**
 * Judge contrast and the sizes of targets on one of the elements that look the same, outwards too. `known` are looks
 * that have passed.
 *
 * Return the violations, the looks that have passed, and whether any look was new.
 */
async function looks({ whole, known, rules }) {
  const before = new Set(known);
  const all = new Map();
  const fresh = new Map();
  for (const element of judged(whole).flatMap((root) => [root, ...root.querySelectorAll("*")])) {
    const style = getComputedStyle(element);
    const own = [
      element.localName,
      element.className,
      style.color,
      style.backgroundColor,
      style.backgroundImage,
      style.opacity,
      style.fontSize,
      style.fontWeight,
    ];
    const look = digest(`${all.get(element.parentElement)} > ${own}`);
    all.set(element, look);
    if (before.has(look) || fresh.has(look)) continue;
    const isJudged =
      element.tabIndex >= 0 ||
      element.matches("input, select, textarea") ||
      [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
    if (isJudged && element.checkVisibility({ visibilityProperty: true })) fresh.set(look, element);
  }
  if (fresh.size === 0) return { violations: [], passed: [], isNew: false };
  const { violations } = await axe.run(
    { include: [...fresh.values()] },
    { runOnly: rules, resultTypes: ["violations"], selectors: false, preload: false, iframes: false, elementRef: true },
  );
  const failed = new Set(violations.flatMap(({ nodes }) => nodes.map(({ element }) => all.get(element))));
  for (const { nodes } of violations) for (const node of nodes) delete node.element;
  return { violations, passed: [...fresh.keys()].filter((look) => !failed.has(look)), isNew: true };
}

/** Type each of some texts into each field of what is shown, and return how many fields there are. */
function type(texts) {
  const place = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.querySelector("main");
  const other = "[type=checkbox], [type=radio], [type=file], [type=datetime-local], [type=number]";
  const fields = place.querySelectorAll(`textarea, input:not(${other})`);
  for (const text of texts) {
    for (const field of fields) {
      field.value = text;
      for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
    }
  }
  return fields.length;
}

/** Send the first form that takes text. */
function send() {
  const place = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.querySelector("main");
  place.querySelector("form:has(textarea, input:not([type=checkbox], [type=radio])) [type=submit]")?.click();
}

/** True if nothing of what is shown is loading. */
function idle() {
  const place = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.querySelector("main");
  return !place.querySelector("[aria-busy=true]");
}

/** Return what has the focus and can't be seen (WCAG 2.2, 2.4.11). */
function unseen() {
  const at = document.activeElement;
  if (at === document.body) return "the body";
  const seen = [...at.getClientRects()].some(({ left, right, top, bottom }) => {
    const [x, y] = [Math.max(left, 0), Math.max(top, 0)];
    const [width, height] = [Math.min(right, innerWidth) - x, Math.min(bottom, innerHeight) - y];
    return width > 0 && height > 0 && [[0.5, 0.5], [0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9]].some(
      ([right, down]) => {
        const there = document.elementFromPoint(x + width * right, y + height * down);
        return at.contains(there) || there?.closest("label")?.control === at;
      });
  });
  return seen ? null : `${at.localName} ${at.ariaLabel ?? at.textContent}`;
}

/** Note from now on what moves without the reader (Layout Instability API). */
function observe() {
  const name = (node) => (node?.nodeType === 1 ? `${node.localName}.${node.className}` : node?.textContent);
  window.shifts = [];
  window.note = (entries) => {
    for (const { hadRecentInput, value, sources } of entries)
      if (!hadRecentInput) window.shifts.push(`${value.toFixed(3)} ${sources.map(({ node }) => name(node))}`);
  };
  window.observer = new PerformanceObserver((list) => window.note(list.getEntries()));
  window.observer.observe({ type: "layout-shift" });
}

/** Return what has moved since this was asked the last time. */
async function moved() {
  await drawn();
  window.note(window.observer.takeRecords());
  return window.shifts.splice(0);
}
