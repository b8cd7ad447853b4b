// SPDX-License-Identifier: MIT OR Apache-2.0
// The picture: all files to scale, then one of them with zoom. The server joins what is too narrow
// to be told apart, so a picture costs the same whatever the store's size.
import { bytesText, chip, counted, el, empty, fileText, grouped, roving } from "./explorer-dom.js";
import { findingRow } from "./explorer-findings.js";

const states = { holds: "its check holds", plain: "nothing checks it", noticed: "a warning", hurt: "hurt" };
const hues = 7;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const kindColour = (kind) => colour(`kind-${kind % hues}`);

// [offset, length, units, kind, state, mixed], with numbers that a picture can be drawn from: files
// are smaller than 2^53 bytes.
const stretchOf = ([offset, length, units, kind, state, mixed]) =>
  ({ offset: Number(offset), length: Number(length), units, kind, state, mixed });

function draw(canvas, stretches, from, to, chosen) {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const g = canvas.getContext("2d");
  g.scale(ratio, ratio);
  const span = Math.max(1, to - from);
  const foot = height > 60 ? 14 : 6;
  const order = ["plain", "holds", "noticed", "hurt"];
  const shade = Object.fromEntries(order.map((s) => [s, colour(s)]));
  const place = (s) => {
    const x = ((Math.max(s.offset, from) - from) / span) * width;
    const end = ((Math.min(s.offset + s.length, to) - from) / span) * width;
    return [x, Math.max(end - x, s.state === "hurt" ? 3 : s.state === "noticed" ? 2 : 0.5)];
  };
  for (const state of order) {
    for (const s of stretches) {
      if (s.state !== state) continue;
      const [x, w] = place(s);
      g.fillStyle = shade[state];
      g.fillRect(x, 0, w, height - foot);
      g.fillStyle = kindColour(s.kind);
      g.fillRect(x, height - foot, w, foot);
      if (w > 4) {
        g.fillStyle = colour("back");
        g.fillRect(x + w - 0.7, 0, 0.7, height);
      }
    }
  }
  if (chosen && chosen.offset < to && chosen.offset + chosen.length > from) {
    const [x, w] = place(chosen);
    g.strokeStyle = colour("text");
    g.lineWidth = 3;
    g.strokeRect(x + 1.5, 1.5, Math.max(w - 3, 2), height - 3);
  }
}

// A long end that nothing checks (space ahead of a log) would hide all the rest.
function endOfSight(stretches, bytes) {
  const last = stretches[stretches.length - 1];
  const cut = stretches.length > 1 && last.state === "plain" && last.length > bytes - last.length;
  return cut ? Math.ceil(last.offset / 0.85) : bytes;
}

function legend(kinds, seen) {
  const line = (name, text, foot) => {
    const mark = el("i", { class: foot ? "foot" : null });
    mark.style.background = `var(--${name})`;
    return el("span", {}, mark, text);
  };
  return el("div", { class: "legend" },
    Object.entries(states).map(([state, text]) => line(state, text)),
    kinds.map((kind, i) => (seen.has(i) ? line(`kind-${i % hues}`, kind, true) : null)));
}

const stretchText = (s, kinds) => (s.units === "1" && !s.mixed ? kinds[s.kind]
  : `${grouped(s.units)} units, ${s.mixed ? "most of them " : ""}${kinds[s.kind]}`);

export async function map(context) {
  const { panel, api, signal, parameters } = context;
  panel.replaceChildren(empty("The map needs every unit; the store is being read…"));
  if ("file" in parameters) return zoomed(context);
  const start = Number(parameters.files_from || 0);
  const told = await api.ask("map", { files_from: start || undefined }, { signal });
  const files = told.files.map((f) => ({ ...f, stretches: f.stretches.map(stretchOf) }));
  if (files.length === 0) {
    panel.replaceChildren(empty("There are no bytes that could be drawn."));
    return;
  }
  if (files.length === 1 && told.file_count === "1") {
    context.parameters = { ...parameters, file: files[0].name };
    return zoomed(context);
  }
  const seen = new Set(files.flatMap((f) => f.stretches.map((s) => s.kind)));
  const rows = files.map((file) => el("a", { class: "file", href: context.address("map", { file: file.name }) },
    el("span", { class: "name" }, el("b", {}, fileText(file.name, context.store)),
      el("span", { class: "soft" }, `${bytesText(file.bytes)}, ${counted(file.units, "unit")}`),
      file.state === "hurt" || file.state === "noticed" ? chip(file.state) : null),
    el("canvas", { "aria-hidden": "true" })));
  panel.replaceChildren(
    el("div", { class: "head" }, el("h2", {}, "Map"),
      el("span", { class: "soft" }, `${counted(told.file_count, "file")}, each to scale. Open one to zoom.` +
        (told.check.changed ? " The store has changed since it was drawn." : ""))),
    legend(told.kinds, seen), el("div", {}, rows),
    Number(told.file_count) > files.length ? el("div", { class: "pager" },
      el("button", { "data-key": "p", disabled: start === 0,
        onclick: () => context.go("map", { files_from: Math.max(0, start - 200) || undefined }) }, "Previous files"),
      el("button", { "data-key": "n", disabled: start + files.length >= Number(told.file_count),
        onclick: () => context.go("map", { files_from: start + files.length }) }, "Next files")) : "");
  roving(rows, (i) => { location.hash = rows[i].hash; });
  const paint = () => files.forEach((file, i) => {
    if (file.stretches.length) {
      draw(rows[i].querySelector("canvas"), file.stretches, 0, endOfSight(file.stretches, Number(file.bytes)));
    }
  });
  paint();
  window.addEventListener("resize", paint, { signal });
  document.addEventListener("theme", paint, { signal });
}

class Zoom {
  constructor(context, told) {
    this.context = context;
    this.name = told.file.name;
    this.bytes = Number(told.file.bytes);
    this.kinds = told.kinds;
    this.whole = told.stretches.map(stretchOf);
    this.stretches = this.whole;
    this.from = 0;
    this.to = this.whole.length ? endOfSight(this.whole, this.bytes) : this.bytes;
    this.chosen = null;
    this.asked = 0;
    this.build(told);
  }

  build(told) {
    this.canvas = el("canvas", { id: "zoomed", tabindex: 0, role: "img", "aria-describedby": "map-keys" });
    this.left = el("span");
    this.right = el("span");
    this.middle = el("span");
    this.detail = el("div", { "aria-live": "polite" });
    this.table = el("tbody");
    this.tip = el("div", { class: "tip", hidden: true });
    const button = (text, label, action) =>
      el("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
    const seen = new Set(this.whole.map((s) => s.kind));
    this.context.panel.replaceChildren(
      el("div", { class: "head" },
        told.file_is_only ? null : el("a", { href: this.context.address("map") }, "All files"),
        el("h2", { class: "wrap" }, fileText(this.name, this.context.store)),
        el("span", { class: "soft" }, `${bytesText(this.bytes)}, ${counted(told.file.units, "unit")}`),
        el("span", { class: "spring" }),
        button("−", "Zoom out", () => this.zoom(2)), button("+", "Zoom in", () => this.zoom(0.5)),
        button("All", "The whole file", () => this.window(0, this.bytes))),
      this.canvas, el("div", { class: "axis" }, this.left, this.middle, this.right),
      legend(this.kinds, seen),
      el("p", { class: "soft", id: "map-keys" },
        "Wheel, pinch or + and − zoom, dragging moves, ← and → choose a unit, Enter shows its bytes."),
      this.detail,
      el("details", {}, el("summary", {}, "What is drawn, as a table"),
        el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {},
          ["offset", "length", "units", "kind", "state"].map((t) => el("th", { scope: "col" }, t)))),
        this.table))), this.tip);
    this.listen();
  }

  listen() {
    const { canvas } = this;
    const { signal } = this.context;
    const repaint = () => this.paint();
    window.addEventListener("resize", repaint, { signal });
    document.addEventListener("theme", repaint, { signal });
    document.addEventListener("step-up", () => this.context.go("map", {}), { signal });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX / canvas.clientWidth);
      else this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.placeOf(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.pointers = new Map();
    canvas.addEventListener("pointerdown", (event) => {
      this.pointers.set(event.pointerId, event.clientX);
      this.moved = 0;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    const up = (event) => {
      const clicked = this.pointers.size === 1 && this.moved < 4 && event.type === "pointerup";
      this.pointers.delete(event.pointerId);
      if (clicked) this.choose(this.at(this.placeOf(event)));
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    canvas.addEventListener("dblclick", (event) => this.zoom(0.25, this.placeOf(event)));
  }

  placeOf(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return this.from + share * (this.to - this.from);
  }

  at(place) {
    return this.stretches.find((s) => place >= s.offset && place < s.offset + s.length);
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (before === undefined) {
      const s = this.at(this.placeOf(event));
      this.tip.hidden = !s;
      if (s) {
        this.tip.textContent = `${stretchText(s, this.kinds)}: ${states[s.state]}\n` +
          `at ${grouped(s.offset)}, ${counted(s.length, "byte")}`;
        this.tip.style.left = `${Math.min(event.clientX + 12, innerWidth - this.tip.offsetWidth - 8)}px`;
        this.tip.style.top = `${event.clientY + 18}px`;
      }
      return;
    }
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId);
    this.pointers.set(event.pointerId, event.clientX);
    this.moved += Math.abs(event.clientX - before);
    if (others.length === 0) {
      if (this.moved >= 4) this.pan((before - event.clientX) / this.canvas.clientWidth);
    } else {
      const other = others[0][1];
      const now = Math.max(8, Math.abs(event.clientX - other));
      this.zoom(Math.max(8, Math.abs(before - other)) / now, this.placeOf({ clientX: (event.clientX + other) / 2 }));
    }
  }

  key(event) {
    const i = this.stretches.indexOf(this.chosen);
    const last = this.stretches.length - 1;
    const visible = this.stretches.findIndex((s) => s.offset + s.length > this.from);
    const walk = (step) =>
      this.choose(this.stretches[i < 0 ? visible : Math.min(last, Math.max(0, i + step))]);
    const actions = {
      ArrowRight: () => (event.shiftKey ? this.pan(0.25) : walk(1)),
      ArrowLeft: () => (event.shiftKey ? this.pan(-0.25) : walk(-1)),
      Home: () => this.choose(this.stretches[0]), End: () => this.choose(this.stretches[last]),
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      0: () => this.window(0, this.bytes),
      Enter: () => this.chosen && this.context.go("bytes", { file: this.name, offset: this.chosen.offset }),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  }

  pan(share) {
    const span = this.to - this.from;
    const from = Math.max(0, Math.min(this.bytes - span, this.from + share * span));
    this.window(from, from + span);
  }

  zoom(factor, around) {
    const middle = around ?? (this.chosen ? this.chosen.offset + this.chosen.length / 2 : (this.from + this.to) / 2);
    const span = Math.max(16, Math.min(this.bytes, (this.to - this.from) * factor));
    const share = Math.min(1, Math.max(0, (middle - this.from) / (this.to - this.from)));
    const from = Math.max(0, Math.min(this.bytes - span, middle - share * span));
    this.window(from, from + span);
  }

  // Draws at once with what is there, then with what the server knows of the window.
  window(from, to) {
    this.from = Math.max(0, Math.floor(from));
    this.to = Math.min(this.bytes, Math.max(this.from + 1, Math.ceil(to)));
    this.paint();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), 60);
  }

  async load() {
    const asked = ++this.asked;
    const { api, signal, become } = this.context;
    try {
      const told = await api.ask("map", { file: this.name, from: this.from, to: this.to,
        units: Math.max(50, Math.min(4000, this.canvas.clientWidth)) }, { signal });
      if (asked !== this.asked) return;
      this.stretches = told.stretches.map(stretchOf);
      if (this.chosen) this.chosen = this.at(this.chosen.offset) || this.chosen;
      const all = this.from === 0 && this.to === this.bytes;
      become({ file: this.name, ...(all ? {} : { from: this.from, to: this.to }),
        ...(this.chosen ? { offset: this.chosen.offset } : {}) });
      this.paint();
    } catch {
      // The window was left, or the next one will tell.
    }
  }

  choose(stretch) {
    if (!stretch) return;
    this.chosen = stretch;
    if (stretch.offset < this.from || stretch.offset + stretch.length > this.to) {
      const span = Math.max(this.to - this.from, stretch.length);
      const from = Math.max(0, Math.min(this.bytes - span, stretch.offset - span / 4));
      this.window(from, from + span);
    } else {
      this.paint();
    }
    this.tell();
  }

  async tell() {
    const s = this.chosen;
    const { context } = this;
    const end = s.offset + s.length;
    const list = el("div");
    this.detail.replaceChildren(el("section", { class: "card" },
      el("div", { class: "head" }, el("h2", {}, stretchText(s, this.kinds)), chip(s.state),
        el("span", { class: "soft" }, `${states[s.state]}; bytes ${grouped(s.offset)} to ${grouped(end)}, ` +
          bytesText(s.length)),
        el("span", { class: "spring" }),
        el("a", { class: "button", href: context.address("bytes", { file: this.name, offset: s.offset }) }, "Bytes")),
      list));
    this.canvas.setAttribute("aria-label",
      `${stretchText(s, this.kinds)} at byte ${s.offset}, ${s.length} bytes, ${states[s.state]}`);
    if (s.state !== "hurt" && s.state !== "noticed") return;
    try {
      const told = await context.api.ask("findings", { file: this.name, from: s.offset, to: end, limit: 20 },
        { signal: context.signal });
      list.replaceChildren(...told.findings.map((f) => findingRow(context, f)));
    } catch {
      list.replaceChildren();
    }
  }

  paint() {
    draw(this.canvas, this.stretches, this.from, this.to, this.chosen);
    this.left.textContent = grouped(this.from);
    this.right.textContent = grouped(this.to);
    const share = (100 * (this.to - this.from)) / Math.max(1, this.bytes);
    this.middle.textContent = share > 99.9 ? "the whole file"
      : `${bytesText(this.to - this.from)}, ${share < 1 ? share.toPrecision(2) : Math.round(share)} % of the file`;
    if (!this.canvas.hasAttribute("aria-label")) {
      const hurt = this.whole.filter((s) => s.state === "hurt").length;
      this.canvas.setAttribute("aria-label", `Map of ${fileText(this.name, this.context.store)}: ` +
        `${counted(this.whole.length, "stretch", "stretches")}, ${hurt} hurt`);
    }
    this.table.replaceChildren(...this.stretches.slice(0, 200).map((s) => el("tr", {},
      el("td", { class: "right" }, el("a", { href: this.context.address("bytes",
        { file: this.name, offset: s.offset }) }, grouped(s.offset))),
      el("td", { class: "right" }, grouped(s.length)), el("td", { class: "right" }, grouped(s.units)),
      el("td", {}, this.kinds[s.kind] + (s.mixed ? " and others" : "")), el("td", {}, states[s.state]))));
  }
}

async function zoomed(context) {
  const { panel, api, signal, parameters } = context;
  const file = parameters.file;
  const told = await api.ask("map", { file, units: Math.max(50, Math.min(4000, panel.clientWidth)) }, { signal });
  told.file_is_only = file === "";
  const zoom = new Zoom(context, told);
  const from = Number(parameters.from), to = Number(parameters.to);
  if (to > from) zoom.window(from, to);
  else zoom.paint();
  if (parameters.offset !== undefined) {
    const place = Number(parameters.offset);
    const precise = await api.ask("map", { file, from: place, to: place + 1, units: 1 }, { signal });
    const stretch = precise.stretches.map(stretchOf)[0];
    if (!stretch) return;
    const narrow = stretch.length / (zoom.to - zoom.from) < 0.004;
    if (narrow && !(to > from)) {
      const span = Math.min(zoom.bytes, stretch.length * 40);
      const at = Math.max(0, Math.min(zoom.bytes - span, stretch.offset - span / 2));
      zoom.chosen = stretch;
      zoom.window(at, at + span);
      zoom.tell();
    } else {
      zoom.choose(zoom.at(place));
    }
  }
}
