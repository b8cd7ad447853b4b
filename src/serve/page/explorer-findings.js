// SPDX-License-Identifier: MIT OR Apache-2.0
// What the check found, each with a way to its bytes.
import { chip, counted, el, empty, fileText, grouped, roving } from "./explorer-dom.js";

const page = 100;

export function findingRow(context, finding) {
  const place = `${fileText(finding.file, context.store)} at ${grouped(finding.offset)}` +
    (finding.length !== "0" ? `, ${counted(finding.length, "byte")}` : "");
  const values = finding.expected !== null || finding.actual !== null
    ? `${/[.!?]$/.test(finding.message) ? "" : "."} Expected ${finding.expected ?? "nothing"}, found ${finding.actual ?? "nothing"}.` : "";
  const where = { file: finding.file, offset: finding.offset };
  return el("div", { class: "finding", role: "group", "aria-label": `${finding.severity}: ${finding.code}` },
    el("div", {}, chip(finding.severity)),
    el("div", {}, el("b", { class: "mono wrap" }, finding.code), " ",
      el("span", { class: "soft wrap" }, place),
      el("p", {}, finding.message + values)),
    el("div", { class: "links" },
      el("a", { class: "button", href: context.address("bytes", where) }, "Bytes"),
      el("a", { class: "button", href: context.address("map", where) }, "Map")));
}

export async function findings(context) {
  const { panel, api, signal, parameters } = context;
  const severity = parameters.severity || "all";
  const start = Number(parameters.start || 0);
  const asked = { severity, start, limit: page };
  if ("file" in parameters) Object.assign(asked, { file: parameters.file });
  panel.replaceChildren(empty("The store is being checked…"));
  const told = await api.ask("findings", asked, { signal });
  const choose = el("select", { id: "severity", onchange: () =>
    context.go("findings", { ...parameters, severity: choose.value, start: undefined }) },
  [["all", "everything"], ["error", "errors"], ["warning", "warnings"], ["note", "notes"]].map(
    ([value, text]) => el("option", { value, selected: value === severity }, text)));
  const { errors, warnings, notes } = told.check;
  const rows = told.findings.map((f) => findingRow(context, f));
  const turn = (to) => ({ ...parameters, start: to || undefined });
  panel.replaceChildren(
    el("div", { class: "head" }, el("h2", {}, "Findings"),
      el("span", { class: "soft" }, `${counted(errors, "error")}, ${counted(warnings, "warning")}, ` +
        `${counted(notes, "note")}` + (told.check.changed ? "; the store has changed since" : "")),
      el("span", { class: "spring" }), el("label", { for: "severity" }, "Show"), choose),
    rows.length === 0
      ? empty(told.total === "0" ? "Nothing to complain about: the check has no findings."
        : "No findings of this sort.")
      : el("div", { class: "list" }, rows),
    el("div", { class: "pager" },
      el("button", { "data-key": "p", disabled: start === 0,
        onclick: () => context.go("findings", turn(Math.max(0, start - page))) }, "Previous"),
      el("button", { "data-key": "n", disabled: start + page >= Number(told.matching),
        onclick: () => context.go("findings", turn(start + page)) }, "Next"),
      el("span", { class: "soft" }, rows.length === 0 ? "" :
        `${grouped(start + 1)} to ${grouped(start + rows.length)} of ${grouped(told.matching)}`),
      BigInt(told.total) > BigInt(told.kept)
        ? el("span", { class: "soft" }, `The first ${grouped(told.kept)} of ${grouped(told.total)} were kept.`)
        : null));
  roving(rows, (i) => { location.hash = rows[i].querySelector("a").hash; });
}
