// SPDX-License-Identifier: MIT OR Apache-2.0
// Records as a table, with the filters that the format has, and one record in full.
import { chip, counted, el, empty, grouped, parseTime, problem, roving, timeText } from "./explorer-dom.js";
import { jsonView } from "./explorer-json.js";

const most = 100;
const top = "18446744073709551615";

// What `get` takes for a row, or null where the row has no key of its own.
function keyOf(row, face, bySeq) {
  if (face === "log") return (bySeq ? row.seq : row.frame) ?? null;
  if (row.did && row.collection && row.rkey) return `at://${row.did}/${row.collection}/${row.rkey}`;
  return row.job_id ?? row.id ?? null;
}

const plain = (value) => (value === null ? "" : typeof value === "object"
  ? Object.entries(value).map(([k, v]) => `${k} ${typeof v === "object" ? JSON.stringify(v) : v}`).join(" · ")
  : String(value));

const isNumber = (name, text) => /^-?\d+$/.test(text) && !/_id$|key$|^rev$|hex$/.test(name);

// By its type, or by its name and size: formats also have times in milliseconds.
const isTime = (name, value, type) => type === "timestamp_us" ||
  (/_at$/.test(name) && typeof value === "string" && /^\d{13}(\d{3})?$/.test(value));

function cellOf(name, value, type) {
  if (value === undefined || value === null) return el("td", { class: "soft" }, "");
  if (isTime(name, value, type)) {
    const us = type === "timestamp_us" || value.length > 14 ? value : `${value}000`;
    return el("td", {}, el("div", { class: "cell word", title: value }, value === "0" ? "" : timeText(us)));
  }
  if (typeof value === "object") {
    const text = name === "at" ? plain(value) : JSON.stringify(value).slice(0, 400);
    return el("td", {}, el("div", { class: name === "at" ? "cell" : "cell long mono" }, text));
  }
  const text = String(value);
  const number = isNumber(name, text);
  const token = /^(job_)?id$/.test(name) ? "cell token id" : "cell token";
  return el("td", { class: number ? "right" : null },
    el("div", { class: text.includes(" ") ? "cell" : text.length > 26 ? token : "cell word",
      title: text.length > 24 ? text.slice(0, 400) : null }, number ? grouped(text) : text.slice(0, 400)));
}

function table(told, columns, open) {
  const typeOf = Object.fromEntries(columns.map((c) => [c.name, c.type]));
  // Columns in which no row of the page says anything are left out.
  const says = (name, value) => value !== null && value !== "" && !(value === "0" && typeOf[name] === "timestamp_us");
  const all = new Set(told.rows.flatMap(({ record }) => Object.keys(record)));
  const names = [...all].filter((name) => told.rows.some(({ record }) =>
    name in record && says(name, record[name])));
  const first = (name) => told.rows.find(({ record }) => ![undefined, null].includes(record[name])).record[name];
  const rows = told.rows.map(({ record, cut_from_bytes: cut }, i) => el("tr", { onclick: (event) => {
    if (!getSelection().toString() && !event.target.closest("a")) open(i);
  } },
  names.map((name) => cellOf(name, record[name], typeOf[name])),
  cut ? el("td", {}, el("span", { class: "soft" }, `${grouped(cut)} bytes, cut`)) : null));
  roving(rows, open);
  return el("div", { class: "scroll" }, el("table", { class: "rows" },
    el("thead", {}, el("tr", {}, names.map((n) => el("th", { scope: "col",
      class: isNumber(n, String(first(n))) && !isTime(n, first(n), typeOf[n]) ? "right" : null }, n)))),
    el("tbody", {}, rows)));
}

function field(spec, value) {
  const name = `f.${spec.name}`;
  const hint = spec.help + (spec.repeatable ? "; several, separated by spaces" : "");
  if (spec.choices.length && !spec.repeatable) {
    return el("label", { title: hint }, spec.name, el("select", { name }, [el("option", { value: "" }, "any"),
      ...spec.choices.map((c) => el("option", { value: c, selected: c === value }, c))]));
  }
  const list = spec.choices.length ? `choices-${spec.name}` : null;
  return el("label", { class: "wide", title: hint }, spec.name,
    el("input", { name, value: [value ?? ""].flat().join(" "), placeholder: spec.value, list,
      autocomplete: "off", spellcheck: "false" }),
    list ? el("datalist", { id: list }, spec.choices.map((c) => el("option", { value: c }))) : null);
}

const text = (name, label, value, placeholder) => el("label", {}, label,
  el("input", { name, value: value ?? "", placeholder, autocomplete: "off", spellcheck: "false" }));

// Parameters of the address to what a form says; places are left out, so that the list begins anew.
function submit(context, info, face, form) {
  const next = { face: face === "log" ? undefined : face };
  for (const [name, raw] of new FormData(form)) {
    const value = raw.trim();
    if (value === "") continue;
    if (name === "since" || name === "until") {
      const time = parseTime(value);
      if (time === null) return `${value} is no time; 2026-07-02 13:46 is one.`;
      next[name] = time;
    } else if (name === "from" || name === "to") {
      next[name] = value.replace(/[,_ ]/g, "");
    } else if (info.filters[face].some((f) => `f.${f.name}` === name && f.repeatable)) {
      next[name] = value.split(/\s+/);
    } else {
      next[name] = value;
    }
  }
  context.go("records", next);
  return "";
}

function formOf(context, info, face) {
  const { parameters } = context;
  const wrong = el("span", { role: "alert", class: "soft" });
  const bySeq = face === "log" && info.has_seq, byTime = face === "log" && info.has_time;
  const shown = (us) => (us === undefined ? "" : timeText(us) || us);
  const form = el("form", { class: "form", onsubmit: (event) => {
    event.preventDefault();
    wrong.textContent = submit(context, info, face, form);
  } },
  info.filters[face].map((spec) => field(spec, parameters[`f.${spec.name}`])),
  bySeq ? [text("from", "from seq", parameters.from, "1"), text("to", "to seq", parameters.to, "")] : null,
  byTime ? [text("since", "since (UTC)", shown(parameters.since), "2026-07-02 13:46"),
    text("until", "before (UTC)", shown(parameters.until), "2026-07-03")] : null,
  face === "log" ? el("label", { class: "check" }, el("input", { type: "checkbox", name: "reverse", value: "1",
    checked: parameters.reverse === "1" }), "newest first") : null,
  face === "state" ? el("label", { class: "check", title: "also where the format refuses the log" },
    el("input", { type: "checkbox", name: "partial", value: "1", checked: parameters.partial === "1" }),
    "what can be read") : null,
  el("button", { class: "main" }, "Show"),
  el("a", { class: "button", href: context.address("records", { face: face === "log" ? undefined : face }) }, "Clear"),
  wrong);
  // On a small screen the filters make way for the records, unless one is set.
  const set = Object.keys(parameters).some((name) => !["face", "after", "before", "start"].includes(name));
  return el("details", { class: "filters", open: set || innerWidth > 760 }, el("summary", {}, "Filters"), form);
}

const asked = (parameters) => Object.fromEntries(Object.entries(parameters).filter(([name]) =>
  name.startsWith("f.") || ["face", "reverse", "partial", "from", "to", "since", "until", "after", "before",
    "start"].includes(name)));
const without = (parameters) => ({ ...parameters, after: undefined, before: undefined, start: undefined });

function pager(context, told, bySeq) {
  const { parameters, go } = context;
  const start = Number(told.start);
  const to = (place) => () => go("records", { ...without(parameters), ...place });
  const button = (label, place, off, key) =>
    el("button", { type: "button", disabled: off, "data-key": key, onclick: to(place) }, label);
  const begins = bySeq ? parameters.after === undefined && parameters.before === undefined : start === 0;
  const empty_ = told.rows.length === 0;
  const turn = bySeq
    ? [button("First", {}, begins),
      button("Previous", { before: told.first_seq ?? parameters.after }, begins || empty_, "p"),
      button("Next", { after: told.last_seq }, empty_ || (!told.more && parameters.before === undefined), "n"),
      button("Last", { before: parameters.reverse === "1" ? "0" : top }, empty_ || parameters.reverse === "1")]
    : [button("First", {}, begins), button("Previous", { start: Math.max(0, start - most) || undefined }, begins, "p"),
      button("Next", { start: start + told.rows.length }, !told.more || empty_, "n")];
  const shown = empty_ ? "" : bySeq ? `seq ${grouped(told.first_seq)} to ${grouped(told.last_seq)}`
    : `records ${grouped(start + 1)} to ${grouped(start + told.rows.length)}`;
  return el("div", { class: "pager" }, turn, el("span", { class: "soft" }, shown));
}

function gaps(context, told) {
  if (told.verdict === "clean") return "";
  const text = told.findings.filter((f) => f.severity === "error").slice(0, 3).map((f) => f.message).join(" ");
  return el("div", { class: "problem mild" }, el("p", {}, el("b", {}, "Not all could be read. "),
    "Records that cannot be proven are left out: ", text, " ",
    el("a", { href: context.address("findings") }, "All findings")));
}

const faces = (context, face) => el("div", { class: "segmented", role: "group", "aria-label": "What is shown" },
  [["log", "Log"], ["state", "State"]].map(([name, title]) => el("a", { "aria-current": String(face === name),
    href: context.address("records", { face: name === "log" ? undefined : name }) }, title)));

export async function records(context) {
  const { panel, api, signal, parameters } = context;
  const face = parameters.face === "state" ? "state" : "log";
  const { store: info } = await api.ask("overview", {}, { signal });
  const bySeq = face === "log" && info.has_seq;
  const list = el("div", {}, empty(face === "state"
    ? "Adding up the whole log; for a large store this takes a while…" : "Reading…"));
  panel.replaceChildren(el("div", { class: "head" }, el("h2", {}, "Records"), faces(context, face),
    el("span", { class: "soft" }, face === "log" ? "all records, in order" : "what the log adds up to")),
  formOf(context, info, face), list);
  let told;
  try {
    told = await api.ask("records", { ...asked(parameters), limit: most }, { signal });
  } catch (error) {
    if (!signal.aborted) {
      list.replaceChildren(problem({ ...error, hint: face === "state" && parameters.partial !== "1"
        ? "“what can be read” adds up the part that can be." : undefined }));
    }
    return;
  }
  const open = (i) => {
    const key = keyOf(told.rows[i].record, face, bySeq);
    const place = { ...without(asked(parameters)), start: String(Number(told.start) + i) };
    context.go("record", key !== null ? { key, face: parameters.face } : place);
  };
  const columns = info.columns ? info.columns[face] : [];
  const refused = face === "state" && told.verdict !== "clean" && parameters.partial !== "1";
  list.replaceChildren(gaps(context, told), told.rows.length === 0
    ? empty(refused ? "The format refuses this log, so there is no state. “what can be read” adds up the rest."
      : Number(told.start) || parameters.after ? "There are no more records." : "No record fits.")
    : table(told, columns, open), pager(context, told, bySeq));
}

// Where the bytes of a row lie: files are named by their number or their name.
async function placeOf(context, info, at) {
  if (!at) return null;
  if (at.page !== undefined) {
    return { file: "", offset: String((BigInt(at.page) << BigInt(info.info?.detail?.log2_page_size ?? 12)) +
      BigInt(at.offset ?? 0)) };
  }
  const { api, signal } = context;
  const told = await api.ask("map", {}, { signal });
  const numberOf = (name) => /(\d+)\.[a-z]+$/.exec(name)?.[1];
  const names = told.files.map((f) => f.name);
  const number = BigInt(/^\d+$/.test(at.segment) ? at.segment : -1);
  const file = names.find((n) => n === at.segment || n.endsWith(`/${at.segment}`)) ??
    names.find((n) => numberOf(n) !== undefined && BigInt(numberOf(n)) === number) ??
    (names.length === 1 ? names[0] : undefined);
  if (file === undefined) return null;
  if (at.offset !== undefined) return { file, offset: at.offset };
  if (at.block === undefined) return null;
  const { place } = await api.ask("map", { file, kind: "block", number: at.block }, { signal });
  return place === null ? null : { file, offset: place };
}

async function fetchRecord(context) {
  const { api, signal, parameters } = context;
  if (parameters.key !== undefined) {
    const told = await api.ask("record", { key: parameters.key }, { signal });
    return { document: told.document, title: parameters.key, findings: told.findings };
  }
  const told = await api.ask("records", { ...asked(parameters), limit: 1 }, { signal });
  if (told.rows.length === 0) throw { title: "There is no such record. ", message: "The list is shorter." };
  return { document: told.rows[0].record, title: `number ${grouped(Number(told.start) + 1)}`,
    findings: told.findings, cut: told.rows[0].cut_from_bytes };
}

function copyButton(document_) {
  const button = el("button", { type: "button", onclick: async () => {
    try {
      await navigator.clipboard.writeText(JSON.stringify(document_, null, 2));
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
  } }, "Copy JSON");
  return button;
}

// Neighbours by seq, where there are any.
function neighbours(context, info, found) {
  const seq = found.document.seq;
  const { key, face } = context.parameters;
  if (!info.has_seq || face === "state" || seq === undefined || key === undefined) return [];
  const step = (label, letter, place) => el("button", { type: "button", "data-key": letter, onclick: async () => {
    const told = await context.api.ask("records", { ...place, limit: 1 }, { signal: context.signal });
    if (told.rows.length) context.go("record", { key: told.rows[0].record.seq });
  } }, label);
  return [step("Record before", "p", { before: seq }), step("Record behind", "n", { after: seq })];
}

export async function record(context) {
  const { panel, api, signal, parameters } = context;
  const back = { ...parameters, key: undefined, start: undefined };
  const { store: info } = await api.ask("overview", {}, { signal });
  const head = el("div", { class: "head" }, el("a", { href: context.address("records", back),
    onclick: (event) => { if (history.length > 1) { event.preventDefault(); history.back(); } } }, "Back to the list"),
  el("h2", { class: "wrap" }, "Record ", el("span", { class: "mono" }, parameters.key ?? "")));
  document.addEventListener("step-up", () => (history.length > 1 ? history.back() : context.go("records", back)),
    { signal });
  panel.replaceChildren(head, empty("Reading…"));
  let found;
  try {
    found = await fetchRecord(context);
  } catch (error) {
    if (!signal.aborted) panel.replaceChildren(head, problem(error));
    return;
  }
  const bytes = el("span");
  head.append(el("span", { class: "spring" }), ...neighbours(context, info, found), bytes, copyButton(found.document));
  panel.replaceChildren(head,
    found.findings.some((f) => f.severity === "error") ? el("div", { class: "problem mild" }, el("p", {},
      chip("damaged"), " ", found.findings[0].message)) : "",
    found.cut ? el("p", { class: "soft" }, `The record has ${counted(found.cut, "byte")} as JSON; what a user ` +
      "stored is left out here. varve get prints all.") : "",
    jsonView(found.document));
  placeOf(context, info, found.document.at).then((place) => {
    if (place) bytes.append(el("a", { class: "button", href: context.address("bytes", place) }, "Bytes"));
  }).catch(() => {});
}
