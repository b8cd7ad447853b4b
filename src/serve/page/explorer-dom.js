// SPDX-License-Identifier: MIT OR Apache-2.0
// Making elements and words. What comes from a store only ever becomes text.

// Characters that would not be seen, or would turn the text around them, become visible.
export const visible = (text) => text.replace(/[\u0000-\u0009\u000b-\u001f]/g,
  (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
  .replace(/[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (c) => `<${c.charCodeAt(0).toString(16)}>`);

// el("a", { href: "#", class: "x", onclick: f }, "text", other...)
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false)
    .map((c) => (typeof c === "string" ? visible(c) : c)));
  return element;
}

export const byId = (id) => document.getElementById(id);

// "1234567" to "1,234,567"; numbers of 64 bits come as text.
export function grouped(value) {
  const text = String(value);
  return /^-?\d+$/.test(text) ? text.replace(/\B(?=(\d{3})+(?!\d))/g, ",") : text;
}

export const counted = (n, what, many = what + "s") =>
  `${grouped(n)} ${String(n) === "1" ? what : many}`;

export function bytesText(value) {
  const bytes = Number(value);
  if (bytes < 1024) return counted(value, "byte");
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  let size = bytes / 1024, at = 0;
  while (size >= 1024 && at + 1 < units.length) { size /= 1024; at++; }
  return `${size < 10 ? size.toFixed(2) : size < 100 ? size.toFixed(1) : Math.round(size)} ${units[at]}`;
}

// Microseconds since 1970, as text, to a time; empty for what no calendar has.
export function timeText(microseconds) {
  const us = BigInt(microseconds);
  const ms = Number(us / 1000n);
  if (Math.abs(ms) > 8.64e15) return "";
  const rest = ((us % 1000000n) + 1000000n) % 1000000n;
  const seconds = new Date(ms).toISOString().slice(0, 19).replace("T", " ");
  return `${seconds}.${String(rest).padStart(6, "0")}`;
}

// What a person types as a time to microseconds as text, or null.
export function parseTime(text) {
  if (/^-?\d{5,}$/.test(text)) return text;
  const ms = Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(text) ? text : text.replace(" ", "T") +
    (text.length > 10 ? "Z" : ""));
  return Number.isNaN(ms) ? null : String(BigInt(ms) * 1000n);
}

// "0x1f" and "31" to a decimal text, or null.
export function parseOffset(text) {
  const clean = text.trim().replace(/[,_ ]/g, "");
  return /^(0x[0-9a-f]+|\d+)$/i.test(clean) ? String(BigInt(clean)) : null;
}

export const fileText = (name, store) => name || store.path.split("/").filter(Boolean).pop();

// The error of an answer, in plain words.
export function problem(error, mild = false) {
  return el("div", { class: mild ? "problem mild" : "problem", role: "alert" },
    el("p", {}, el("b", {}, error.title || "That did not work. "), error.message || String(error)),
    error.hint ? el("p", { class: "soft" }, error.hint) : null);
}

export const empty = (text) => el("p", { class: "empty" }, text);

export function chip(word) { return el("span", { class: `chip ${word}` }, word); }

export function say(text) { byId("said").textContent = text; }

// Rows that arrow keys walk along, one of them in the tab order.
export function roving(rows, open) {
  rows.forEach((row, i) => {
    row.tabIndex = i === 0 ? 0 : -1;
    row.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1, Home: -i, End: rows.length - 1 - i }[event.key];
      if (step !== undefined && !event.altKey && !event.ctrlKey && !event.metaKey) {
        const next = rows[Math.min(rows.length - 1, Math.max(0, i + step))];
        row.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
        event.preventDefault();
      } else if (event.key === "Enter" && open && event.target === row) {
        open(i);
        event.preventDefault();
      }
    });
  });
}
