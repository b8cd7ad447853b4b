// SPDX-License-Identifier: MIT OR Apache-2.0
// A document with colours. Numbers of 64 bits come as text and are shown as they are.
import { el, grouped, visible } from "./explorer-dom.js";

const mostColoured = 300_000;
const mostShown = 2_000_000;

// Pieces of an indented document: names, texts, numbers, words.
const piece = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;

export function jsonView(value) {
  const text = visible(JSON.stringify(value, null, 2));
  const view = el("pre", { class: "json", tabindex: 0, "aria-label": "The record as JSON" });
  if (text.length > mostColoured) {
    view.textContent = text.slice(0, mostShown);
    if (text.length > mostShown) view.append(`\n… ${grouped(text.length - mostShown)} more characters`);
    return view;
  }
  let done = 0;
  for (const found of text.matchAll(piece)) {
    const [all, quoted, colon, number, word] = found;
    view.append(text.slice(done, found.index));
    const sort = quoted ? (colon ? "key" : /^"-?\d+"$/.test(quoted) ? "number" : "string") : number ? "number" : "word";
    view.append(el("span", { class: `j-${sort}` }, quoted || number || word), colon || "");
    done = found.index + all.length;
  }
  view.append(text.slice(done));
  return view;
}
