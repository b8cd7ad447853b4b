// SPDX-License-Identifier: MIT OR Apache-2.0
// The store on one screen: whether it is whole, how large, what is in it.
import { bytesText, counted, el, grouped, problem, timeText } from "./explorer-dom.js";
import { findingRow } from "./explorer-findings.js";

const sentences = {
  clean: "Every byte that a checksum or a rule covers was looked at; nothing is wrong.",
  torn: "The log ends in a unit that is incomplete or cannot be verified. All before it is proven.",
  damaged: "A unit that was committed is hurt, or a rule of the format is broken.",
  unknown: "This build cannot tell: a version, an encryption or a limit is in the way.",
};

function verdictCard(context, check) {
  const report = check.report;
  const again = el("button", { type: "button", class: report && !check.changed ? "" : "main",
    onclick: () => context.api.ask("check", {}, { method: "POST" }).then(() =>
      document.dispatchEvent(new Event("checked"))) }, report ? "Check again" : "Check every byte");
  if (check.running) {
    const total = Number(check.total_bytes), done = Number(check.done_bytes);
    const text = check.phase === "units" ? "Looking at every unit for the map" : "Checking every byte";
    return el("section", { class: "card verdict", "aria-label": "Verdict" },
      el("p", {}, `${text}: ${bytesText(done)} of ${bytesText(total)}`,
        el("progress", { max: Math.max(total, 1), value: Math.min(done, total), "aria-label": text })));
  }
  if (!report) {
    return el("section", { class: "card verdict", "aria-label": "Verdict" },
      el("p", {}, check.needs_asking
        ? "The store is large and has not been checked. Checking reads all of it."
        : "The store has not been checked yet."), again);
  }
  const counts = report.counts;
  return el("section", { class: `card verdict ${report.verdict}`, "aria-label": "Verdict" },
    el("strong", {}, report.verdict),
    el("p", {}, check.changed
      ? "The store has changed since it was checked; this is what was true before. "
      : sentences[report.verdict] + " ",
      el("span", { class: "soft" },
        `Checked ${bytesText(counts.bytes)} in ${counted(counts.units, "unit")}: ` +
        `${counted(report.intact.records, "record")} whole` +
        (report.lost.records === "0" ? "" : `, ${grouped(report.lost.records)} lost`) +
        (report.unknown.records === "0" ? "" : `, ${grouped(report.unknown.records)} unknown`) +
        `; ${Number(report.elapsed_s).toFixed(2)} s.`)),
    again);
}

const tile = (value, what) => el("div", { class: "tile" }, el("b", {}, value), el("span", {}, what));

function tiles(info) {
  const list = [tile(bytesText(info.bytes), `${grouped(info.bytes)} bytes`),
    tile(info.records === null ? "—" : grouped(info.records),
      info.records === null ? "records: only a check tells" : "records"),
    tile(grouped(info.segments), "segments"),
    tile(info.units === null ? "—" : grouped(info.units), "units")];
  if (info.compression_ratio !== null) {
    list.push(tile(`${Number(info.compression_ratio).toFixed(2)} : 1`, "compression"));
  }
  return el("div", { class: "tiles" }, list);
}

function facts(info) {
  const list = [];
  const add = (name, value) => {
    if (value !== null && value !== undefined && value !== "") {
      list.push(el("dt", {}, name), el("dd", {}, String(value)));
    }
  };
  add("format", `${info.format}, version ${info.version}`);
  add("path", info.path);
  add("on disk", `${bytesText(info.bytes_allocated)} allocated`);
  if (info.first_seq !== null) add("sequence", `${grouped(info.first_seq)} to ${grouped(info.last_seq)}`);
  if (info.first_time !== null) {
    add("time (UTC)", `${timeText(info.first_time)} to ${timeText(info.last_time)}`);
  }
  if (info.sealed !== null) add("sealed", info.sealed ? "yes" : "no");
  add("tail", info.tail);
  return el("section", { class: "card" }, el("h2", {}, "The store"), el("dl", { class: "facts" }, list));
}

function detailRows(prefix, value, list) {
  if (Array.isArray(value) && value.some((v) => v !== null && typeof v === "object")) return;
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    for (const [key, inner] of Object.entries(value)) {
      detailRows(prefix ? `${prefix}.${key}` : key, inner, list);
    }
  } else if (list.length < 120) {
    const text = Array.isArray(value)
      ? (JSON.stringify(value).length > 80 ? counted(value.length, "element") : JSON.stringify(value))
      : String(value);
    list.push(el("dt", {}, prefix), el("dd", {}, text));
  }
}

// Lists of things of one kind, as tables: the segments of an archive.
function detailTables(info) {
  return Object.entries(info.detail).filter(([, value]) => Array.isArray(value) && value.length > 0 &&
    value.every((v) => v !== null && typeof v === "object" && !Array.isArray(v))).map(([name, list]) => {
    const columns = [...new Set(list.flatMap(Object.keys))];
    const cell = (column, value) => {
      const text = value !== null && typeof value === "object" ? JSON.stringify(value)
        : String(value ?? "");
      if (/_at$/.test(column) && /^\d{15,}$/.test(text)) return el("td", {}, timeText(text));
      return el("td", { class: /^\d+$/.test(text) ? "right" : null }, /^\d+$/.test(text) ? grouped(text) : text);
    };
    return el("section", { class: "card" }, el("h2", {}, `${name} (${grouped(list.length)})`),
      el("div", { class: "scroll short", tabindex: 0, role: "region", "aria-label": name }, el("table", {},
        el("thead", {}, el("tr", {}, columns.map((c) => el("th", { scope: "col",
          class: /^\d+$/.test(String(list[0][c])) && !/_at$/.test(c) ? "right" : null }, c)))),
        el("tbody", {}, list.slice(0, 500).map((row) => el("tr", {}, columns.map((c) => cell(c, row[c]))))))),
      list.length > 500 ? el("p", { class: "soft" }, "The first 500.") : null);
  });
}

function detail(info) {
  const list = [];
  detailRows("", info.detail, list);
  if (list.length === 0) return null;
  return el("section", { class: "card" }, el("h2", {}, "Fields of its headers"),
    el("dl", { class: "facts mono" }, list));
}

async function firstFindings(context, check) {
  const severity = check.errors === "0" ? "all" : "error";
  const told = await context.api.ask("findings", { limit: 5, severity }, { signal: context.signal });
  if (told.findings.length === 0) return null;
  const more = BigInt(told.total) - BigInt(told.findings.length);
  return el("section", { class: "card" }, el("h2", {}, severity === "all" ? "Findings" : "Errors"),
    el("div", { class: "list" }, told.findings.map((f) => findingRow(context, f))),
    more > 0n ? el("p", {}, el("a", { href: context.address("findings") },
      `and ${grouped(more)} more`)) : null);
}

function bars(distribution) {
  const lines = distribution.categories
    ? distribution.categories.slice(0, 12).map((c) => [c.name, c.count])
    : distribution.by_bit_width.map((count, i) => [i === 0 ? "0" : `${grouped(2n ** BigInt(i - 1))} and up`,
      count]).filter(([, count]) => count !== "0");
  const most = Math.max(1, ...lines.map(([, count]) => Number(count)));
  const list = lines.map(([name, count]) => {
    const line = el("i");
    line.style.width = `${(100 * Number(count)) / most}%`;
    return el("div", { class: "bar" }, el("span", { title: name }, name || "(empty)"), el("span", {}, line),
      el("span", { class: "right" }, grouped(count)));
  });
  const rest = (distribution.categories || []).length - lines.length;
  return el("div", {}, el("h3", {}, distribution.name),
    distribution.categories ? null : el("p", { class: "soft" },
      `half at most ${grouped(distribution.p50)}, nine of ten at most ${grouped(distribution.p90)}, ` +
      `largest ${grouped(distribution.maximum)} ${distribution.unit || ""}`),
    list, distribution.categories && rest > 0 ? el("p", { class: "soft" }, `and ${grouped(rest)} more`) : null);
}

function statistics(context) {
  const body = el("div", {}, el("p", { class: "soft" }, "Sizes, kinds and rates. This reads all of the store."));
  const button = el("button", { type: "button", onclick: async () => {
    button.disabled = true;
    button.textContent = "Reading…";
    try {
      const told = await context.api.ask("stats", {}, { signal: context.signal });
      body.replaceChildren(told.distributions.length === 0 ? "There is nothing to count."
        : el("div", { class: "stats" }, told.distributions.map(bars)));
    } catch (error) {
      if (!context.signal.aborted) body.replaceChildren(problem(error));
    }
  } }, "Show distributions");
  body.append(button);
  return el("section", { class: "card" }, el("h2", {}, "Distributions"), body);
}

export async function overview(context) {
  const { panel, api, signal } = context;
  const told = await api.ask("overview", {}, { signal });
  const info = told.store.info;
  const verdict = el("div");
  const found = el("div");
  let drawn = "";
  const check = (state) => {
    verdict.replaceChildren(verdictCard(context, state));
    const mark = state.report ? `${state.report.elapsed_s}` : "";
    if (mark !== drawn && mark) {
      drawn = mark;
      firstFindings(context, state).then((list) => found.replaceChildren(list || "")).catch(() => {});
    }
  };
  check(told.check);
  panel.replaceChildren(verdict);
  if (told.store.error) {
    panel.append(problem({ title: "It does not open. ", message: told.store.error.message,
      hint: "The map and the bytes are shown all the same, file by file." }));
  }
  const side = el("div");
  panel.append(info ? tiles(info) : "", el("div", { class: "columns" },
    el("div", {}, found, info ? facts(info) : null, info ? statistics(context) : null), side));
  const fields = info && detail(info);
  if (fields) side.append(fields);
  else side.parentElement.classList.remove("columns");
  if (info) panel.append(...detailTables(info));
  let generation = told.generation;
  document.addEventListener("store-told", (event) => {
    check(event.detail.check);
    if (event.detail.generation !== generation && event.detail.store.info && info) {
      generation = event.detail.generation;
      panel.querySelector(".tiles")?.replaceWith(tiles(event.detail.store.info));
    }
  }, { signal });
  document.addEventListener("checked", () => {
    api.ask("overview", {}, { signal }).then((now) => check(now.check)).catch(() => {});
  }, { signal });
}
