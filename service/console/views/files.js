// @ts-check
/** Files: upload with progress, download, public links, delete. */
import { Problem } from "../client/portcullis.js";
import { button, h, linkButton } from "../core/dom.js";
import { shownNumber } from "../core/locale.js";
import { ask, dialog, settled, tell } from "../parts/dialog.js";
import { trouble } from "../parts/trouble.js";
import { once } from "../parts/once.js";
import { listing } from "../parts/table.js";
import { time, timeText } from "../parts/time.js";
import { save } from "../parts/transfer.js";
import { ACTION, lifetimes } from "../strings/common.js";
import { FILES as T } from "../strings/files.js";

const MINUTE = 60; // seconds
const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];

/** @param {number} bytes */
function size(bytes) {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  return shownNumber(bytes / 1000 ** step, {
    style: "unit",
    unit: UNITS[step],
    unitDisplay: step ? "short" : "long",
    maximumSignificantDigits: 3,
  });
}

/** @param {Page} page */
export async function show(page) {
  const mayUpload = page.may("POST /api/file");
  const transfers = h("div", { class: "transfers" });
  const chosen = h("input", {
    type: "file",
    multiple: true,
    hidden: true,
    tabindex: "-1",
    "aria-label": T.upload,
    onchange: () => uploadAll([...(chosen.files ?? [])]),
  });
  page.title(
    T.title,
    mayUpload && [chosen, button(T.upload, () => chosen.click(), { icon: "upload", kind: "primary" })],
  );
  const list = listing(page, {
    caption: T.caption,
    columns: [
      { title: T.name, cell: (file) => file.name, sort: "name" },
      {
        title: T.size,
        cell: (file) => h("span", { class: "tight", title: `${file.size}` }, size(file.size)),
        sort: "size",
        kind: "number",
      },
      { title: T.type, cell: (file) => file.contentType, sort: "contentType" },
      { title: T.owner, cell: (file) => file.ownerName },
      { title: T.created, cell: (file) => time(file.createTime, { ago: true }), sort: "createTime" },
      { title: T.link, cell: (file) => file.linkExpireTime && [T.until, time(file.linkExpireTime)] },
    ],
    filters: [
      { name: "name", label: T.name },
      { name: "contentType", label: T.type },
    ],
    load: async (query) => (await page.call("GET", "/api/file/list", { query })).data,
    sort: "-createTime",
    buttons: (file) => [
      page.may("GET /api/file/{id}") &&
        button(T.download, () => download(file), {
          icon: "download",
          label: true,
          "aria-label": `${T.download}: ${file.name}`,
        }),
      page.may("POST /api/file/{id}/public-link") &&
        button(T.share, () => share(file), { "aria-label": `${T.share}: ${file.name}` }),
      file.linkExpireTime &&
        page.may("DELETE /api/file/{id}/public-link") &&
        button(T.unshare, () => unshare(file), { "aria-label": `${T.unshare}: ${file.name}` }),
      page.may("DELETE /api/file/{id}") &&
        button(ACTION.delete, () => remove(file), {
          icon: "trash",
          label: true,
          kind: "quiet",
          "aria-label": `${ACTION.delete}: ${file.name}`,
        }),
    ],
    empty: h("p", { class: "empty" }, T.none),
  });
  page.put(mayUpload && h("p", { class: "help" }, T.dropped), transfers, list);
  if (mayUpload) dropping();

  function dropping() {
    const target = page.body;
    target.addEventListener("dragover", (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    });
    target.addEventListener("drop", (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      uploadAll([...event.dataTransfer.files]);
    });
  }

  /** @param {File[]} files One after the other: the service takes few at a time of one user. */
  async function uploadAll(files) {
    chosen.value = "";
    for (const file of files) await upload(file);
    if (!page.signal.aborted) await list.reload();
  }

  /** @param {File} file */
  async function upload(file) {
    const stop = new AbortController();
    const bar = h("progress", { max: "1", "aria-label": T.sending({ name: file.name }) });
    const line = h(
      "div",
      { class: "transfer" },
      h("span", null, T.sending({ name: file.name })),
      bar,
      button(T.stop, () => stop.abort(), { "aria-label": `${T.stop}: ${file.name}` }),
    );
    transfers.append(line);
    const body = new FormData();
    body.append("file", file);
    try {
      await page.call("POST", "/api/file", {
        body,
        signal: AbortSignal.any([page.signal, stop.signal]),
        progress: (sent, all) => {
          bar.value = all ? sent / all : 1;
        },
      });
      line.remove();
      tell(T.sent({ name: file.name }));
    } catch (problem) {
      if (problem instanceof Problem) line.replaceChildren(h("strong", null, file.name), trouble(problem));
      else line.remove();
      if (stop.signal.aborted) tell(T.stopped({ name: file.name }));
    }
  }

  /** @param {import("../types/api").StoredFile} file */
  async function download(file) {
    const path = { id: file.id };
    try {
      const { data } = await page.call("GET", "/api/file/{id}", { path, raw: true });
      save(await data.blob(), file.name);
    } catch (problem) {
      const linked =
        problem instanceof Problem &&
        problem.code === "elsewhere" &&
        page.may("POST /api/file/{id}/public-link");
      if (linked) await downloadByLink(file);
      else transfers.replaceChildren(trouble(problem));
    }
  }

  /**
   * Offer a link that lasts a minute: where the object store sends files, no script may fetch them, but a new tab can.
   * @param {import("../types/api").StoredFile} file
   */
  async function downloadByLink({ id, name, linkExpireTime }) {
    /** @type {import("../types/api").Link | undefined} */ let made;
    const make = async () => {
      ({ data: made } = await page.call("POST", "/api/file/{id}/public-link", {
        path: { id },
        body: { expiresIn: MINUTE },
      }));
    };
    try {
      if (!linkExpireTime) await make();
      else
        await ask({
          title: T.replaceTitle({ name }),
          text: T.replaceText,
          confirm: T.replace,
          danger: true,
          act: make,
        });
    } catch (problem) {
      transfers.replaceChildren(trouble(problem));
    }
    if (!made) return;
    const open = linkButton(new URL(made.url, location.origin).href, T.download, {
      kind: "primary",
      icon: "download",
    });
    open.target = "_blank"; // should the store refuse, it says so there
    open.rel = "noopener";
    const box = dialog(T.linked({ name }), h("p", null, T.linkedText), h("div", { class: "buttons" }, open));
    open.addEventListener("click", () => box.close());
    open.focus();
    await box.closed;
    await list.reload();
  }

  /** @param {import("../types/api").StoredFile} file */
  async function share({ id, name }) {
    /** @type {import("../types/api").Link | undefined} */ let made;
    const asked = await ask({
      title: T.shareTitle({ name }),
      text: T.shareText,
      confirm: T.share,
      extra: [{ name: "expiresIn", label: T.expires, type: "select", unset: T.usual, options: lifetimes() }],
      act: async ({ expiresIn }) => {
        ({ data: made } = await page.call("POST", "/api/file/{id}/public-link", {
          path: { id },
          body: { expiresIn },
        }));
      },
    });
    if (!asked || !made) return;
    await once(
      T.made,
      T.madeText({ time: timeText(made.expireTime) }),
      new URL(made.url, location.origin).href,
    );
    await list.reload();
  }

  /** @param {import("../types/api").StoredFile} file */
  async function unshare({ id, name }) {
    const path = { id };
    await settled(list, T.unshared({ name }), {
      title: T.unshareTitle({ name }),
      text: T.unshareText,
      confirm: T.unshare,
      danger: true,
      act: () => page.call("DELETE", "/api/file/{id}/public-link", { path }),
    });
  }

  /** @param {import("../types/api").StoredFile} file */
  async function remove({ id, name }) {
    const path = { id };
    await settled(list, T.deleted({ name }), {
      title: T.deleteTitle({ name }),
      text: T.deleteText,
      confirm: ACTION.delete,
      danger: true,
      act: () => page.call("DELETE", "/api/file/{id}", { path }),
    });
  }
}
