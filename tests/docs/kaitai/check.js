// SPDX-License-Identifier: MIT OR Apache-2.0
// Does the parser that Kaitai Struct makes of docs/formats/FORMAT.ksy read the fields that
// `varve explain` tells, at the same places, with the same bytes?
//   node check.js VARVE DESCRIPTIONS FORMAT STORE [STORE...]
// Exit code 0: yes; 1: no; 77: the compiler is not installed (npm install in this folder).
"use strict";
const fs = require("fs");
const path = require("path");
const { spawnSync } = require("child_process");

let Compiler, Stream, Yaml;
try {
  Compiler = require("kaitai-struct-compiler");
  Stream = require("kaitai-struct/KaitaiStream");
  Yaml = require("yaml");
} catch (missing) {
  console.log(`skipped: ${missing.message.split("\n")[0]}`);
  process.exit(77);
}

const [varve, descriptions, format, ...stores] = process.argv.slice(2);

async function parserOf(name) {
  const text = fs.readFileSync(`${descriptions}/${name}.ksy`, "utf8");
  const debug = true; // the parser then notes where each field lies
  const compiled = await Compiler.compile("javascript", Yaml.parse(text), null, debug);
  const module_ = { exports: {} };
  const source = Object.values(compiled)[0];
  new Function("module", "exports", "require", source)(module_, module_.exports, () => Stream);
  return Object.values(module_.exports).find((it) => typeof it === "function") || module_.exports;
}

// The fields of a parsed object as "offset length name", those of instances too.
function* leaves(value, debug, name) {
  const at = debug.ioOffset + debug.start;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      yield* leaves(value[i], debug.arr[i], name);
    }
  } else if (value && typeof value === "object" && value._debug) {
    yield* fieldsOf(value);
  } else if (debug.end > debug.start) {
    yield `${at} ${debug.end - debug.start} ${name}`;
  }
}
function* fieldsOf(object) {
  const names = new Set(Object.keys(object._debug).filter((it) => !it.startsWith("_raw")));
  for (let type = Object.getPrototypeOf(object); type && type !== Object.prototype;
       type = Object.getPrototypeOf(type)) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(type))) {
      if (property.get) {
        void object[name]; // instances are read when they are asked for
        names.add(name);
      }
    }
  }
  for (const name of names) {
    const value = object[name];
    const debug = object._debug[name] || object._debug[`_m_${name}`];
    if (value !== undefined && debug && debug.start !== undefined) {
      yield* leaves(value, debug, name);
    }
  }
}

const camel = (name) => name.toLowerCase().replace(/_(.)/g, (_, c) => c.toUpperCase());

function fieldsIn(Parser, file) {
  const bytes = fs.readFileSync(file);
  const root = new Parser(new Stream(bytes.buffer.slice(bytes.byteOffset,
                                                        bytes.byteOffset + bytes.length)));
  root._read();
  return new Set(fieldsOf(root));
}

async function main() {
  const Parser = await parserOf(format);
  const tables = fs.readFileSync(`${descriptions}/${format}.md`, "utf8");
  const rowsOf = /^\| \d+ \| \w+ \| `(\w+)` \| (.*) \|$/gm;
  const told = new Set([...tables.matchAll(rowsOf)].map((it) => `${it[1]}: ${it[2]}`));
  let compared = 0;
  let missing = 0;
  for (const store of stores) {
    // Whatever the exit code: hurt stores are explained too.
    const { stdout } = spawnSync(varve, ["explain", "--json", store], { maxBuffer: 1 << 30 });
    const explained = JSON.parse(stdout);
    const found = new Map();
    for (const row of explained.rows) {
      if (row.container || !told.has(`${row.field}: ${row.meaning}`)) {
        continue;
      }
      if (!found.has(row.file)) {
        found.set(row.file, fieldsIn(Parser, path.join(store, row.file)));
      }
      compared++;
      if (!found.get(row.file).has(`${row.offset} ${row.length} ${camel(row.field)}`)) {
        missing++;
        console.log(`${store} ${row.file}: no ${row.field} of ${row.length} bytes at ${row.offset}`);
      }
    }
  }
  console.log(`${format}: ${compared} fields of ${stores.length} store(s), ${missing} not found`);
  process.exit(missing === 0 && compared > 0 ? 0 : 1);
}
main().catch((error) => {
  console.log(error.stack);
  process.exit(1);
});
