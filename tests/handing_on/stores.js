// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs the program, finds the stores to export, and says whether a row that a reader gave equals
// the line of `cat` or `state`.
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const { execFile } = require("child_process");

// {code, out: Buffer, err: string}
function run(program, words, environment = {}) {
  const options = { encoding: "buffer", maxBuffer: 1 << 30, env: { ...process.env, ...environment } };
  return new Promise((resolve) => {
    execFile(program, words, options, (error, out, err) => {
      const code = error ? error.code : 0;
      resolve({ code: typeof code === "number" ? code : -1, out, err: err.toString() });
    });
  });
}

// Every path below `root` that may be a store: files, and directories that hold no directory.
function candidates(root) {
  const found = [];
  const names = fs.readdirSync(root, { withFileTypes: true });
  for (const entry of names) {
    const at = path.join(root, entry.name);
    if (entry.isDirectory()) found.push(at, ...candidates(at));
    else if (/\.(jss|kladde|tay)$/.test(entry.name)) found.push(at);
  }
  return found;
}

// The lines of `cat` or `state` with 64-bit numbers as text; null where there is no store.
async function lines(varve, verb, store) {
  const { code, out, err } = await run(varve, [verb, "--int64", "string", store]);
  if (code > 4) return null;
  const text = out.toString();
  const rows = text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  return { code, err, rows };
}

const base64 = (bytes) => Buffer.from(bytes).toString("base64").replace(/=+$/, "");

function same(a, b) {
  if (a !== null && typeof a === "object") {
    if (b === null || typeof b !== "object") return false;
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => same(a[key], b[key]));
  }
  if (typeof a === typeof b && typeof a !== "number") return a === b;
  if (a === null || b === null) return a === b;
  // A number that JSON.parse took from the record's text may have been rounded.
  return String(a) === String(b) || Number(a) === Number(b);
}

// Compares one row, its cells named by dotted names, with one line; gives how many cells both have.
// Cells: null, boolean, text, bytes as Uint8Array, all numbers as text.
function compare(cells, line, where) {
  let compared = 0;
  for (const [name, cell] of Object.entries(cells)) {
    let value = line;
    for (const part of name.split(".")) value = value === null || value === undefined ? undefined : value[part];
    if (value === undefined) continue;
    if (cell instanceof Uint8Array) {
      if (typeof value === "object" && value !== null) {
        if (typeof value.$bytes !== "string") continue;  // decoded by cat
        value = value.$bytes;
      }
      assert.strictEqual(base64(cell), value, `${where}: ${name}`);
    } else if (value !== null && typeof value === "object") {
      if (cell === null || value.$bytes !== undefined) continue;  // text that is not UTF-8
      assert(same(JSON.parse(cell), value), `${where}: ${name}: ${cell}`);
    } else if (value === null || typeof value === "boolean") {
      assert.strictEqual(cell, value, `${where}: ${name}`);
    } else {
      assert.strictEqual(cell, String(value), `${where}: ${name}`);
    }
    compared++;
  }
  return compared;
}

module.exports = { run, candidates, lines, compare };
