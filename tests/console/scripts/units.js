// Parts of the console, tried in a page that is signed in, all in one evaluation: `test_units.py` has what they return.

/** Load a module of the console by its path. */
function load(path) {
  return import(new URL(path, document.querySelector("script[type=module]").src));
}

/** Return a list of rows before and after a change: their order, what was typed, the selection, and which rows stay. */
async function keyedRows() {
  const { keyed, h } = await load("core/dom.js");
  const list = h("ul");
  document.querySelector("main").append(list);
  const show = (...items) =>
    keyed(
      list,
      items,
      ({ id }) => id,
      ({ text }) => h("li", null, h("input", { "aria-label": text })),
    );
  show({ id: 1, text: "a" }, { id: 2, text: "b" }, { id: 3, text: "c" });
  const [first, second, third] = list.children;
  const field = second.firstChild;
  field.value = "typed";
  field.focus();
  field.setSelectionRange(1, 3);
  show({ id: 4, text: "d" }, { id: 2, text: "b" }, { id: 3, text: "c", version: 2 }, { id: 1, text: "a" });
  const order = [...list.children].map((row) => row.firstChild.getAttribute("aria-label")).join("");
  const kept = [document.activeElement === field, list.contains(first), list.contains(third)];
  const result = [order, field.value, field.selectionStart, field.selectionEnd, ...kept];
  list.remove();
  return result;
}

/**
 * Open a menu and go on to what it holds before the browser reports that it is open, then move what has the focus
 * within the page; return each time whether the focus is still there.
 */
async function hastyReader() {
  const { menu } = await load("parts/more.js");
  const { button } = await load("core/dom.js");
  const moment = () => new Promise((resolve) => setTimeout(resolve, 50));
  const kept = [];
  for (const stays of [true, false]) {
    const acts = [button("First", () => {}), button("Second", () => {})];
    const shown = menu("More", "more", () => acts, stays);
    document.querySelector("main").append(shown);
    shown.querySelector("summary").click();
    acts[1].focus();
    await moment();
    kept.push(document.activeElement === acts[1]);
    shown.parentElement.prepend(shown);
    await moment();
    kept.push(document.activeElement === acts[1]);
    shown.remove();
  }
  return kept;
}

/** Search in a tree of a thousand leaves; return how many rows are shown, and what is said about them. */
async function searchedTree() {
  const { tree, searching } = await load("parts/tree.js");
  const below = Array.from({ length: 1000 }, (_, id) => ({ id: id + 1, title: `Leaf ${id + 1}`, below: [] }));
  const shown = tree({
    name: "All",
    roots: [{ id: 0, title: "Root", below }],
    open: new Set(),
    children: (node) => node.below,
    label: ({ title }) => title,
  });
  const search = searching(shown, "Search", ({ title }, text) => title.toLowerCase().includes(text));
  const field = search.querySelector("input");
  return ["leaf", "leaf 99", "none"].map((text) => {
    field.value = text;
    field.dispatchEvent(new Event("input"));
    return [shown.querySelectorAll("[role=treeitem]").length, search.textContent];
  });
}

/** Choose among many; return the boxes, the chosen ones and the note: at first, after a search, with a new one. */
async function longChoice() {
  const { picker } = await load("parts/picker.js");
  const options = Array.from({ length: 300 }, (_, key) => ({ key, text: `Entry ${key}` }));
  const made = picker(options, [250], {
    none: "None",
    act: "Make",
    create: async (text) => ({ key: 300, text: `New ${text}` }),
  });
  document.body.append(made.element);
  const [search] = made.element.querySelectorAll("[type=search]");
  const boxes = () => [...made.element.querySelectorAll("[type=checkbox]")];
  const state = () => {
    const note = made.element.querySelector("[role=status]");
    return [
      boxes().length,
      boxes().filter((box) => box.checked).length,
      made.get(),
      note.hidden || note.textContent,
    ];
  };
  const looked = (text) => {
    search.value = text;
    search.dispatchEvent(new Event("input"));
    return state();
  };
  const states = [state(), looked("entry 29")];
  boxes().at(-1).click();
  states.push(looked("no such"));
  let heard = 0;
  made.element.addEventListener("change", () => {
    heard += 1;
  });
  made.element.querySelector("button").click();
  await new Promise((resolve) => {
    setTimeout(resolve);
  });
  states.push(state());
  made.set([1]);
  states.push(state(), heard);
  made.element.remove();
  return states;
}

/** Show what two roles gain; return whether the requests are counted, and the lists before and after they unfold. */
async function listedGains() {
  const { side } = await load("parts/preview.js");
  const access = Array.from({ length: 1000 }, (_, id) => `GET /thing/${id}`);
  const roles = [
    { roleCode: "first", users: 3, access },
    { roleCode: "second", users: 1, access: [], total: 7 },
  ];
  const shown = side("Gain access", roles, "good");
  const lists = () =>
    [...shown.querySelectorAll("details")].map((list) => [
      list.querySelectorAll("li").length,
      list.querySelector("p")?.textContent ?? null,
    ]);
  const folded = lists();
  document.body.append(shown);
  for (const list of shown.querySelectorAll("details")) {
    list.open = true;
    await new Promise((resolve) => {
      list.addEventListener("toggle", resolve, { once: true });
    });
  }
  const result = [shown.textContent.includes("1,000 endpoints"), folded, lists()];
  shown.remove();
  return result;
}

/**
 * Leave a view, make its list only then, as after a slow request, and type in a filter of it; return what the list has
 * asked for, and the address.
 */
async function lateList() {
  const { page } = await load("core/router.js");
  const { listing } = await load("parts/table.js");
  const left = page();
  location.hash = "/users?userName=of-another-view";
  while (page() === left) await new Promise((resolve) => setTimeout(resolve, 5));
  const asked = [];
  const shown = listing(left, {
    caption: "Late",
    columns: [{ title: "Name", cell: (user) => user }],
    filters: [{ name: "userName", label: "Name" }],
    load: async (query) => {
      asked.push(query.userName);
      return { items: [], total: 0 };
    },
  });
  const field = shown.querySelector("input");
  field.value = "typed";
  field.dispatchEvent(new Event("change"));
  await new Promise((resolve) => setTimeout(resolve));
  return [asked[0], location.hash];
}

/** Return for each pair of a held code and another whether the first covers the second. */
async function coveredCodes(pairs) {
  const { covers } = await load("parts/codes.js");
  return pairs.map(([held, code]) => covers(held, code));
}

/** Return for each list of held codes and another code whether they grant it. */
async function grantedCodes(cases) {
  const { grants } = await load("client/portcullis.js");
  return cases.map(([held, code]) => grants(held, code));
}

/** Return the operations of OpenAPI documents, and those that can't be registered. */
async function readDocuments(documents) {
  const { operationsOf } = await load("parts/openapi.js");
  return documents.map((document) => {
    const { operations, unusable } = operationsOf(document, "orders", null);
    return [
      operations.map(({ method, path, resourceName, resourceCode }) => [method, path, resourceName, resourceCode]),
      unusable.map(({ operation }) => operation),
    ];
  });
}

/** Return the cells of tables with each separator, as a spreadsheet writes them. */
async function readTables() {
  const { cellsOf } = await load("parts/csv.js");
  const texts = ['\uFEFFa;b\r\n"1;2";3\r\n', "a\tb\n1,2\t3\n", '"a,;;",b\n1;2,3\n', "sep=;\r\na;b\r\n1;2", "a\n1;2\n"];
  return texts.map(cellsOf);
}

/** Return a workbook of texts that a spreadsheet could misread, in Base64. */
async function madeWorkbook() {
  const { workbook } = await load("parts/workbook.js");
  const rows = [
    ["=1+1", "00123", "2026-11-30T17:00:00.123Z", "\u9DFA \u0628 \u{1FAB6}"],
    ['_x0041_ <&"\u0001', "", "", ` a\n${"x".repeat(40_000)}`],
  ];
  const bytes = new Uint8Array(await workbook("a/b", ["A", "B", "C", "D"], rows).arrayBuffer());
  return btoa([...bytes].map((byte) => String.fromCharCode(byte)).join(""));
}

/** Return sentences of which Chinese words and names are parts. */
async function spacedSentences() {
  const { spaced } = await load("parts/sentence.js");
  const name = (text) => ({ text, target: `user:${text}` });
  const said = (...words) => spaced(words).map((word) => word.text ?? word).join("");
  return [
    said(name("admin"), " ", "为 ", "用户 ", name("lee"), " 授予了", "角色 ", name("a"), "和", name("b")),
    said("为 ", name("王芳"), " 授予了", "角色 ", name("审计"), "，", "并更改了 ", name("x 王")),
  ];
}

/** Run all of them; return their results by name. */
async function units({ pairs, cases, documents }) {
  return {
    coveredCodes: await coveredCodes(pairs),
    grantedCodes: await grantedCodes(cases),
    readDocuments: await readDocuments(documents),
    keyedRows: await keyedRows(),
    hastyReader: await hastyReader(),
    searchedTree: await searchedTree(),
    longChoice: await longChoice(),
    listedGains: await listedGains(),
    lateList: await lateList(),
    readTables: await readTables(),
    madeWorkbook: await madeWorkbook(),
    spacedSentences: await spacedSentences(),
  };
}
