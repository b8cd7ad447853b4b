// SPDX-License-Identifier: MIT OR Apache-2.0
// The unit that holds a byte, field by field: raw, decoded, what it means, whether its check holds.
import { chip, el, empty, fileText, grouped, parseOffset, problem } from "./explorer-dom.js";
import { findingRow } from "./explorer-findings.js";

function rawCell(row) {
  if (row.container || !row.raw) return el("td", { class: "raw" });
  const shown = row.raw.slice(0, 32);
  const pairs = shown.match(/../g);
  const ascii = pairs.map((h) => {
    const code = parseInt(h, 16);
    return code >= 32 && code < 127 ? String.fromCharCode(code) : "·";
  }).join("");
  const more = BigInt(row.length) > BigInt(pairs.length);
  return el("td", { class: "raw mono", title: row.raw.match(/../g).join(" ") },
    el("span", { class: `c-${row.class}` }, pairs.join(" ") + (more ? " …" : "")),
    el("span", { class: "ascii" }, ascii));
}

const checkText = { holds: "holds", fails: "WRONG" };

function rowOf(row) {
  const cells = [
    el("td", { class: "right mono" }, grouped(row.offset)),
    el("td", { class: "right mono" }, grouped(row.length)),
    el("td", {}, el("span", { class: `indent-${Math.min(row.depth, 4)} ` + (row.container ? "" : `c-${row.class}`) },
      row.field)),
    el("td", {}, el("div", { class: "cell" }, row.value)),
    el("td", { class: "check" }, checkText[row.check] || ""),
    rawCell(row),
    el("td", { class: "meaning" }, el("div", { class: "cell soft" }, row.meaning)),
  ];
  const sort = (row.container ? "unit" : "") + (row.check === "fails" ? " fails" : "");
  const list = [el("tr", { class: sort }, cells)];
  for (const mark of row.marks) {
    const says = { zeros: "zeros", repeated: `repeats ${mark.text}`, stale: `stale: ${mark.text}` }[mark.kind];
    list.push(el("tr", {}, el("td", { class: "right mono soft" }, grouped(mark.offset)),
      el("td", { class: "right mono soft" }, grouped(mark.length)),
      el("td", { class: "soft", colspan: 5 }, `~ ${says}`)));
  }
  return list;
}

function table(told) {
  const titles = ["offset", "length", "field", "value", "check", "raw", "meaning"];
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Fields" },
    el("table", { class: "bytes" },
      el("thead", {}, el("tr", {}, titles.map((t) => el("th", { scope: "col", class: t === "offset" || t === "length"
        ? "right" : null }, t)))),
      el("tbody", {}, told.rows.flatMap(rowOf))));
}

async function filesOf(api, signal) {
  try {
    return (await api.ask("map", {}, { signal })).files;
  } catch {
    return [];
  }
}

function form(context, names, file, offset) {
  const choose = el("select", { name: "file" }, names.map((name) =>
    el("option", { value: name, selected: name === file }, fileText(name, context.store))));
  const field = el("input", { name: "offset", value: offset, autocomplete: "off", spellcheck: "false",
    inputmode: "text", placeholder: "4096 or 0x1000" });
  const wrong = el("span", { role: "alert", class: "soft" });
  return el("form", { class: "form", onsubmit: (event) => {
    event.preventDefault();
    const place = parseOffset(field.value);
    if (place === null) wrong.textContent = "An offset is a number: 4096 or 0x1000.";
    else context.go("bytes", { file: choose.value, offset: place });
  } },
  names.length > 1 ? el("label", { class: "wide" }, "File", choose) : el("span", { hidden: true }, choose),
  el("label", {}, "Byte", field), el("button", {}, "Show"), wrong);
}

export async function bytes(context) {
  const { panel, api, signal, parameters, address } = context;
  panel.replaceChildren(empty("Reading…"));
  const files = await filesOf(api, signal);
  const names = files.map((f) => f.name);
  const file = parameters.file ?? names[0] ?? "";
  const offset = parameters.offset ?? "0";
  if (!names.includes(file)) names.unshift(file);
  panel.replaceChildren(el("div", { class: "head" }, el("h2", {}, "Bytes"),
    el("span", { class: "soft wrap" }, fileText(file, context.store))), form(context, names, file, offset));
  const waiting = empty("Reading…");
  panel.append(waiting);
  let told;
  try {
    told = await api.ask("explain", { file, offset }, { signal });
  } catch (error) {
    if (!signal.aborted) waiting.replaceWith(problem(error));
    return;
  }
  waiting.remove();
  const first = told.rows[0];
  const end = first ? BigInt(first.offset) + BigInt(first.length) : 0n;
  if (!first || BigInt(offset) >= end) {
    panel.append(empty("No unit holds this byte."));
    return;
  }
  // Explaining opens the file, which finds what is wrong elsewhere in it too.
  const found = told.findings.filter((f) => f.file === file && BigInt(f.offset) < end &&
    BigInt(f.offset) + BigInt(f.length) >= BigInt(first.offset));
  const size = files.find((f) => f.name === file)?.bytes;
  const unit = (text, key, to) => el(to === null ? "button" : "a", to === null ? { disabled: true }
    : { class: "button", "data-key": key, href: address("bytes", { file, offset: to }) }, text);
  panel.append(
    el("div", { class: "head" },
      el("h3", {}, first.field + (first.value ? `: ${first.value}` : "")),
      told.rows.some((r) => r.check === "fails") ? chip("hurt") : null,
      el("span", { class: "spring" }),
      unit("Unit before", "p", first.offset === "0" ? null : String(BigInt(first.offset) - 1n)),
      unit("Unit behind", "n", size !== undefined && end >= BigInt(size) ? null : String(end)),
      el("a", { class: "button", href: address("map", { file, offset: first.offset }) }, "Map")),
    table(told),
    told.rows_cut ? el("p", { class: "soft" }, "Only the first rows are shown; varve explain prints all.") : "",
    ...found.length ? [el("h3", { class: "apart" }, "Findings about it"),
      el("div", { class: "list" }, found.map((f) => findingRow(context, f)))] : []);
  document.addEventListener("step-up", () => history.back(), { signal });
}
