"""What a large installation has thousands of is shown in part, and the reader is told."""

from __future__ import annotations

from typing import Final

from tests.console.visits import Visit

MODULES: Final = """
const base = document.querySelector("script[type=module]").src;
const { tree, searching } = await import(new URL("parts/tree.js", base));
const { side } = await import(new URL("parts/preview.js", base));
"""
TREE: Final = """async () => {
  MODULES
  const leaves = Array.from({ length: 1000 }, (_, id) =>
    ({ id: id + 1, title: `Leaf ${id + 1}`, below: [] }));
  const shown = tree({ name: "All", roots: [{ id: 0, title: "Root", below: leaves }], open: new Set(),
    children: ({ below }) => below, label: ({ title }) => title });
  const search = searching(shown, "Search", ({ title }, wanted) => title.toLowerCase().includes(wanted));
  const field = search.querySelector("input");
  return ["leaf", "leaf 99", "none"].map((wanted) => {
    field.value = wanted;
    field.dispatchEvent(new Event("input"));
    return [shown.querySelectorAll("[role=treeitem]").length, search.textContent];
  });
}"""
PREVIEW: Final = """async () => {
  MODULES
  const access = Array.from({ length: 1000 }, (_, id) => `GET /thing/${id}`);
  const shown = side("Gain access", [{ roleCode: "one", users: 3, access }, { roleCode: "two", users: 1, access: [], total: 7 }], "good");
  const lists = () => [...shown.querySelectorAll("details")].map((one) => [one.querySelectorAll("li").length, one.querySelector("p")?.textContent]);
  const folded = lists();
  document.body.append(shown);
  for (const one of shown.querySelectorAll("details")) {
    one.open = true;
    await new Promise((resolve) => { one.addEventListener("toggle", resolve, { once: true }); });
  }
  return [shown.textContent.includes("1,000 requests"), folded, lists()];
}"""  # noqa: E501 - a line of a script


def test_a_search_in_a_tree_shows_its_first_rows_and_says_so(visit: Visit) -> None:
    visit.sign_in()

    many, few, none = visit.page.evaluate(TREE.replace("MODULES", MODULES))

    assert many == [300, "More fits: only the first 300 rows are shown."]
    assert few == [12, ""]  # Leaf 99, Leaf 990 to 999, and the root above them
    assert none == [0, ""]


def test_what_a_role_gains_is_listed_when_it_is_unfolded_and_cut(visit: Visit) -> None:
    visit.sign_in()

    counted, folded, unfolded = visit.page.evaluate(PREVIEW.replace("MODULES", MODULES))

    assert counted
    assert folded == [[0, None], [0, None]]
    assert unfolded == [[200, "and 800 more"], [0, "and 7 more"]]
