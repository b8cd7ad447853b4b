// SPDX-License-Identifier: MIT OR Apache-2.0
// The frame of the page: which store, which view, the theme and the keys. The address says it all:
// #/STORE/VIEW?parameters
import { apiOf, ask } from "./explorer-api.js";
import { byId, el, empty, problem, say } from "./explorer-dom.js";
import { bytes } from "./explorer-bytes.js";
import { findings } from "./explorer-findings.js";
import { map } from "./explorer-map.js";
import { overview } from "./explorer-overview.js";
import { record, records } from "./explorer-records.js";

const views = { overview, map, records, record, findings, bytes };
const tabs = [["overview", "Overview"], ["map", "Map"], ["records", "Records"],
  ["findings", "Findings"], ["bytes", "Bytes"]];
const tabOf = (view) => (view === "record" ? "records" : view);

let stores = [];
let leave = null;      // of the view that is shown
let current = null;    // { store, view, parameters }
let watching = null;

export function addressOf(store, view, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && (one !== "" || name === "file")) query.append(name, one);
    }
  }
  return `#/${encodeURIComponent(store)}/${view}${query.size ? `?${query}` : ""}`;
}

function route() {
  const [path, query] = location.hash.slice(1).split("?");
  const [, id, view] = path.split("/").map(decodeURIComponent);
  const store = stores.find((s) => s.id === id) || stores[0];
  const parameters = {};
  for (const [name, value] of new URLSearchParams(query || "")) {
    parameters[name] = name in parameters ? [parameters[name], value].flat() : value;
  }
  return { store, view: view in views ? view : "overview", parameters };
}

function drawTabs() {
  const { store, view } = current;
  const links = tabs.map(([name, title]) => el("a", {
    href: addressOf(store.id, name), role: "tab", id: `tab-${name}`, "aria-controls": "panel",
    "aria-selected": String(tabOf(view) === name), tabindex: tabOf(view) === name ? 0 : -1 }, title));
  byId("tabs").replaceChildren(...links);
  byId("panel").setAttribute("aria-labelledby", `tab-${tabOf(view)}`);
  links.forEach((link, i) => link.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (i + step + tabs.length) % tabs.length;
    location.hash = links[next].hash;
    requestAnimationFrame(() => byId(`tab-${tabs[next][0]}`)?.focus());
  }));
}

// What every view shows of the check: the verdict in the head, the number of errors at the tab.
export function showCheck(check) {
  const verdict = byId("verdict");
  const report = check.report;
  const word = report ? report.verdict : check.running ? "being checked" : "not checked";
  verdict.className = `chip ${report ? report.verdict : ""}`;
  verdict.textContent = word + (check.changed ? " before it changed" : "");
  verdict.href = addressOf(current.store.id, "overview");
  const tab = byId("tab-findings");
  tab?.querySelector(".count")?.remove();
  if (report && check.errors !== "0") {
    tab?.append(el("span", { class: "count", "aria-label": `${check.errors} errors` }, check.errors));
  }
}

async function watch() {
  clearTimeout(watching);
  const { store } = current;
  let running = false;
  try {
    const told = await ask(`/api/${encodeURIComponent(store.id)}/overview`);
    if (store !== current.store) return;
    running = told.check.running;
    showCheck(told.check);
    document.dispatchEvent(new CustomEvent("store-told", { detail: told }));
  } catch {
    // The view that is shown says what is wrong.
  }
  if (store === current.store) watching = setTimeout(watch, running ? 300 : 4000);
}

function show() {
  const next = route();
  const panel = byId("panel");
  if (!next.store) {
    panel.replaceChildren(empty("The server was started without a store."));
    return;
  }
  const sameStore = current?.store === next.store;
  current = next;
  leave?.abort();
  leave = new AbortController();
  drawTabs();
  byId("title").textContent = next.store.path;
  byId("title").title = next.store.path;
  byId("format").textContent = next.store.format;
  byId("store").value = next.store.id;
  document.title = `${tabs.find(([name]) => name === tabOf(next.view))[1]} of ${next.store.path}`;
  if (!sameStore) byId("verdict").textContent = "";
  const context = { api: apiOf(next.store), store: next.store, parameters: next.parameters,
    signal: leave.signal, panel, address: (view, p) => addressOf(next.store.id, view, p),
    go: (view, p) => { location.hash = addressOf(next.store.id, view, p); },
    // The same view with other parameters, without a step in the history.
    become: (p) => {
      history.replaceState(null, "", addressOf(next.store.id, next.view, p));
      current.parameters = p;
    } };
  panel.replaceChildren();
  watch();
  views[next.view](context).catch((error) => {
    if (!context.signal.aborted) panel.append(problem(error));
  });
  say(`${document.title}`);
}

const themes = ["auto", "light", "dark"];
function theme(step) {
  let chosen = "auto";
  try {
    chosen = localStorage.getItem("varve-theme") || "auto";
    if (step) {
      chosen = themes[(themes.indexOf(chosen) + 1) % themes.length];
      localStorage.setItem("varve-theme", chosen);
    }
  } catch {
    // Without storage the theme is the system's.
  }
  const dark = chosen === "dark" || (chosen === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = `Theme: ${chosen}`;
  document.dispatchEvent(new Event("theme"));
}

function keys(event) {
  const field = event.target.closest("input, select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (field) field.blur();
    else if (!byId("keys").open) document.dispatchEvent(new Event("step-up"));
    return;
  }
  if (field || byId("keys").open) return;
  const number = "12345".indexOf(event.key);
  if (number >= 0) {
    location.hash = addressOf(current.store.id, tabs[number][0]);
    requestAnimationFrame(() => byId(`tab-${tabs[number][0]}`)?.focus());
  } else if (event.key === "/") {
    const first = byId("panel").querySelector("input:not([type=checkbox]), select");
    first?.closest("details")?.setAttribute("open", "");
    first?.focus();
  } else if (event.key === "?") {
    byId("keys").showModal();
  } else if (event.key === "t") {
    theme(1);
  } else if (event.key === "n" || event.key === "p") {
    byId("panel").querySelector(`[data-key="${event.key}"]:not(:disabled)`)?.click();
  } else {
    return;
  }
  event.preventDefault();
}

async function main() {
  theme(0);
  byId("theme").addEventListener("click", () => theme(1));
  byId("help").addEventListener("click", () => byId("keys").showModal());
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("panel").focus();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme(0));
  document.addEventListener("keydown", keys);
  window.addEventListener("hashchange", show);
  try {
    stores = (await ask("/api/stores")).stores;
  } catch (error) {
    byId("panel").replaceChildren(problem(error));
    return;
  }
  const picker = byId("store");
  picker.replaceChildren(...stores.map((s) => el("option", { value: s.id }, s.path)));
  picker.hidden = stores.length < 2;
  byId("title").classList.toggle("hidden", stores.length > 1);
  picker.addEventListener("change", () => {
    location.hash = addressOf(picker.value, tabOf(current.view));
  });
  show();
}
main();
