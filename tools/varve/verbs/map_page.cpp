// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/map_page.hpp"

#include "output/report_json.hpp"

namespace varve::cli {

using output::MapField;
using output::MapFile;
using output::MapUnit;
using output::StoreMapPicture;

namespace {

constexpr std::string_view k_head = R"page(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>varve map</title>
<style>
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --soft: #626b76; --line: #d5dae0;
  --panel: #f5f7f9; --holds: #2e8b57; --plain: #b9c2cc; --noticed: #d99a00; --hurt: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --back: #15181c; --text: #e6e9ed; --soft: #98a2ae;
  --line: #333a42; --panel: #1d2126; --holds: #3fa96c; --plain: #4b545e; --noticed: #e0ad33;
  --hurt: #ff5d5d; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text);
  font: 14px/1.45 system-ui, sans-serif; }
header { padding: 12px 16px; border-bottom: 1px solid var(--line); display: flex; gap: 16px;
  align-items: baseline; flex-wrap: wrap; }
h1 { font-size: 16px; margin: 0; overflow-wrap: anywhere; }
header span { color: var(--soft); }
.verdict { font-weight: 600; }
.legend i { display: inline-block; width: 12px; height: 12px; margin: 0 4px 0 12px;
  vertical-align: -1px; border-radius: 2px; }
button { font: inherit; padding: 2px 10px; background: var(--panel); color: var(--text);
  border: 1px solid var(--line); border-radius: 4px; cursor: pointer; }
body { height: 100vh; display: flex; flex-direction: column; }
main { display: grid; grid-template-columns: minmax(0, 1fr) 380px; flex: 1; min-height: 0; }
#rows { overflow: auto; padding: 12px 16px; }
aside { border-left: 1px solid var(--line); background: var(--panel); overflow: auto;
  padding: 12px 16px; overflow-wrap: anywhere; }
.file { margin-bottom: 14px; }
.name { color: var(--soft); font-size: 12px; margin-bottom: 3px; position: sticky; left: 0; }
.bar { display: flex; height: 38px; border: 1px solid var(--line); border-radius: 3px;
  overflow: hidden; }
.unit { height: 100%; min-width: 1px; border-right: 1px solid var(--back); cursor: pointer;
  position: relative; }
.unit.stripe { background-image: repeating-linear-gradient(45deg, transparent 0 5px,
  rgba(127,127,127,.35) 5px 10px); }
.unit:hover, .unit:focus-visible { outline: 2px solid var(--text); outline-offset: -2px; }
.unit.on { outline: 3px solid var(--text); outline-offset: -3px; }
.unit b { position: absolute; left: 4px; top: 7px; font-size: 11px; font-weight: 500; color: #fff;
  white-space: nowrap; overflow: hidden; max-width: calc(100% - 6px); pointer-events: none;
  text-shadow: 0 0 2px rgba(0,0,0,.6); }
table { border-collapse: collapse; width: 100%; font-size: 12px; }
td { padding: 1px 6px 1px 0; vertical-align: top; }
td:first-child { color: var(--soft); text-align: right; white-space: nowrap; }
.wrong { color: var(--hurt); font-weight: 600; }
.finding { border-left: 3px solid var(--hurt); padding: 2px 8px; margin: 6px 0; }
.finding.warning, .finding.note { border-color: var(--noticed); }
a.finding { display: block; color: inherit; text-decoration: none; cursor: pointer; }
a.finding:hover, a.finding:focus-visible { background: var(--back); }
#tip { position: fixed; pointer-events: none; background: var(--text); color: var(--back);
  padding: 3px 8px; border-radius: 4px; font-size: 12px; display: none; max-width: 60vw; }
code { font-family: ui-monospace, monospace; font-size: 12px; }
@media (max-width: 800px) { body { height: auto; } main { grid-template-columns: minmax(0, 1fr); } }
</style>
</head>
<body>
<header><h1 id="title"></h1><span id="sum"></span><span class="legend" id="legend"></span>
<span><button id="out" title="zoom out">&minus;</button> <button id="in" title="zoom in">+</button>
<button id="one" title="the whole file">1:1</button></span></header>
<main><div id="rows"></div><aside id="side"></aside></main>
<div id="tip"></div>
<script type="application/json" id="data">)page";

constexpr std::string_view k_tail = R"page(</script>
<script>
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const make = (tag, text, name) => { const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text; if (name) e.className = name; return e; };
const byId = (id) => document.getElementById(id);
const n = (x) => x.toLocaleString('en-US');
const count = (x, what) => n(x) + ' ' + what + (x === 1 ? '' : 's');
const states = { holds: 'its check holds', plain: 'nothing checks it', noticed: 'a warning',
  hurt: 'hurt' };
byId('title').textContent = data.path;
document.title = 'map of ' + data.path;
const units = data.files.reduce((sum, f) => sum + f.units.reduce((s, u) => s + u.count, 0), 0);
byId('sum').append(make('span', data.verdict, 'verdict'),
  ' · ' + data.format + ' · ' + count(data.files.length, 'file') + ' · ' + count(units, 'unit'));
const legend = (color, text) => { const i = make('i'); i.style.background = color;
  byId('legend').append(i, text); };
for (const s in states) legend('var(--' + s + ')', states[s]);
// The strip at a unit's foot tells its kind.
const hues = ['#4c78a8', '#f2a541', '#9467bd', '#17a2b8', '#e377c2', '#8c6d4f', '#7f7f7f'];
const kinds = new Map();
for (const f of data.files) for (const u of f.units) if (!kinds.has(u.kind))
  kinds.set(u.kind, hues[Math.min(kinds.size, hues.length - 1)]);
byId('legend').append(make('br'));
const named = [...kinds].slice(0, kinds.size > hues.length ? hues.length - 1 : hues.length);
for (const [kind, color] of named) legend(color, kind);
if (kinds.size > hues.length) legend(hues[hues.length - 1], 'other kinds');
let zoom = 1, chosen = null;
const share = (file, unit) => {
  // A long end that nothing checks (space ahead of a log) would hide all the rest.
  const last = file.units[file.units.length - 1], rest = file.bytes - last.length;
  const cut = file.units.length > 1 && last.state === 'plain' && last.length > rest;
  const total = cut ? rest / 0.85 : file.bytes;
  return { part: (cut && unit === last ? 0.15 : unit.length / total) * 100,
    stripe: cut && unit === last };
};
const elements = new Map();
const show = (file, unit) => {
  const mark = (on) => { const e = elements.get(chosen); if (e) e.classList.toggle('on', on); };
  mark(false); chosen = unit; mark(true);
  const side = byId('side');
  const back = make('button', 'all findings'); back.onclick = overview;
  side.replaceChildren(back, make('h1', unit.label || unit.kind));
  const facts = make('table');
  for (const [k, v] of [['file', file.name || data.path], ['offset', n(unit.offset)],
    ['length', n(unit.length)], ['kind', unit.kind], ['state', states[unit.state]]]) {
    const row = make('tr'); row.append(make('td', k), make('td', v)); facts.append(row); }
  side.append(facts);
  for (const f of unit.findings || []) { const d = make('div', undefined, 'finding ' + f.severity);
    d.append(make('b', f.code), make('div', f.message)); side.append(d); }
  if (unit.fields && unit.fields.length) {
    const table = make('table');
    for (const f of unit.fields) { const row = make('tr');
      const name = make('td', f.name, f.wrong ? 'wrong' : ''); name.style.paddingLeft =
        (f.depth - 1) * 10 + 'px';
      row.append(make('td', f.offset), name, make('td', f.value)); row.title = f.meaning;
      table.append(row); }
    side.append(make('h3', 'Fields'), table);
  }
  side.append(make('h3', 'All of it'));
  side.append(make('code', 'varve explain ' + data.path + ' ' + file.name + '@' + unit.offset));
};
const told = (f, file) => [make('b', f.code),
  make('div', (file ? file + (f.offset === undefined ? '' : '@' + n(f.offset)) + ': ' : '') +
    f.message)];
const overview = () => {
  const side = byId('side');
  side.replaceChildren(make('p',
    'Each row is a file, to scale. Click a unit for its fields and findings.'));
  const most = 200;
  const all = data.files.flatMap((file) => file.units.flatMap((unit) =>
    (unit.findings || []).map((f) => [file, unit, f])));
  for (const [file, unit, f] of all.slice(0, most)) {
    const a = make('a', undefined, 'finding ' + f.severity); a.href = '#';
    a.append(...told(f, file.name || data.path));
    a.onclick = (e) => { e.preventDefault(); show(file, unit);
      elements.get(unit).scrollIntoView({ block: 'center', inline: 'center' }); };
    side.append(a);
  }
  if (all.length > most)
    side.append(make('p', 'and ' + n(all.length - most) + ' more: varve verify tells all'));
  for (const f of data.elsewhere) { const d = make('div', undefined, 'finding ' + f.severity);
    d.append(...told(f, f.file)); side.append(d); }
};
const draw = () => {
  const rows = byId('rows'); rows.replaceChildren(); elements.clear();
  for (const file of data.files) {
    const box = make('div', undefined, 'file');
    box.append(make('div', (file.name || data.path) + ' · ' + n(file.bytes) + ' bytes', 'name'));
    const bar = make('div', undefined, 'bar'); bar.style.width = zoom * 100 + '%';
    for (const unit of file.units) {
      const u = make('div', undefined, 'unit'), at = share(file, unit);
      elements.set(unit, u);
      if (unit === chosen) u.classList.add('on');
      u.style.flex = at.part + ' 1 0';
      u.style.boxShadow = 'inset 0 -6px 0 ' + kinds.get(unit.kind);
      u.style.backgroundColor = 'var(--' + unit.state + ')';
      if (at.stripe) u.classList.add('stripe');
      u.tabIndex = 0; u.setAttribute('role', 'button');
      u.setAttribute('aria-label', unit.label + ', ' + states[unit.state]);
      if (at.part * zoom > 4) u.append(make('b', unit.label));
      u.onclick = () => show(file, unit);
      u.onkeydown = (e) => { if (e.key === 'Enter') show(file, unit); };
      u.onmousemove = (e) => { const tip = byId('tip'); tip.style.display = 'block';
        tip.textContent = unit.label + ' · @' + n(unit.offset) + ', ' + n(unit.length) +
          ' bytes · ' + states[unit.state];
        tip.style.left = Math.min(e.clientX + 12, innerWidth - tip.offsetWidth - 8) + 'px';
        tip.style.top = e.clientY + 16 + 'px'; };
      u.onmouseleave = () => { byId('tip').style.display = 'none'; };
      bar.append(u);
    }
    box.append(bar); rows.append(box);
  }
};
const setZoom = (z) => { zoom = Math.min(Math.max(z, 1), 4096); draw(); };
byId('in').onclick = () => setZoom(zoom * 2);
byId('out').onclick = () => setZoom(zoom / 2);
byId('one').onclick = () => setZoom(1);
byId('rows').addEventListener('wheel', (e) => { if (e.ctrlKey) { e.preventDefault();
  setZoom(zoom * (e.deltaY < 0 ? 1.5 : 1 / 1.5)); } }, { passive: false });
overview();
draw();
</script>
</body>
</html>
)page";

Json unit_json(const MapUnit& unit) {
  Json out = Json::object()
                 .set("offset", unit.offset)
                 .set("length", unit.length)
                 .set("count", unit.count)
                 .set("kind", unit.kind)
                 .set("label", unit.label)
                 .set("state", to_text(unit.state));
  if (!unit.fields.empty()) {
    Json fields = Json::array();
    for (const MapField& field : unit.fields) {
      fields.push(Json::object()
                      .set("depth", std::uint64_t{field.depth})
                      .set("offset", field.offset)
                      .set("name", field.name)
                      .set("value", field.value)
                      .set("meaning", field.meaning)
                      .set("wrong", field.wrong));
    }
    out.set("fields", std::move(fields));
  }
  if (!unit.findings.empty()) {
    out.set("findings", output::findings_json(unit.findings));
  }
  return out;
}

}  // namespace

Json map_json(const StoreMapPicture& picture) {
  Json files = Json::array();
  for (const MapFile& file : picture.files) {
    Json units = Json::array();
    for (const MapUnit& unit : file.units) {
      units.push(unit_json(unit));
    }
    files.push(Json::object()
                   .set("name", file.name)
                   .set("bytes", file.bytes)
                   .set("units", std::move(units)));
  }
  return Json::object()
      .set("schema", "varve.map/1")
      .set("path", picture.path)
      .set("format", picture.format)
      .set("verdict", to_text(picture.verdict))
      .set("files", std::move(files))
      .set("elsewhere", output::findings_json(picture.elsewhere));
}

std::string map_page(const StoreMapPicture& picture) {
  std::string out(k_head);
  // Text of a hostile store must not end the element that it stands in.
  for (const char c : map_json(picture).text()) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  out += k_tail;
  return out;
}

}  // namespace varve::cli
