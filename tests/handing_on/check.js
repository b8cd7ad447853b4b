// SPDX-License-Identifier: MIT OR Apache-2.0
// Exports every store below the given directories and compares what readers find with `cat` and
// `state`:
//   node check.js VARVE SCRATCH DIRECTORY...
// SCRATCH is a directory for Parquet files, or empty where DuckDB is absent.
"use strict";
const assert = require("assert");
const fs = require("fs");
const os = require("os");
const path = require("path");
const { run, candidates, lines, compare } = require("./stores.js");
const { arrowRows, parquetRows } = require("./readers.js");
const [varve, scratch, ...roots] = process.argv.slice(2);
const verdicts = ["clean", "torn", "damaged", "unknown"];

const totals = { stores: 0, rows: 0, cells: 0, batches: 0, groups: 0 };

function compareAll(found, wanted, where) {
  assert.strictEqual(found.length, wanted.length, `${where}: rows`);
  found.forEach((cells, i) => {
    totals.cells += compare(cells, wanted[i], `${where} row ${i}`);
  });
}

// All columns, also those that an export leaves out unless they are named.
const known = {};
async function columns(store, table) {
  const { out } = await run(varve, ["info", "--json", store]);
  const key = `${JSON.parse(out).format} ${table}`;
  if (known[key] === undefined) {
    const words = ["export", "--to", "csv", "--limit", "0", "--face", table, store];
    known[key] = (await run(varve, words)).out.toString().trim();
  }
  return known[key];
}

async function checkArrow(store, table, wanted, names) {
  const where = `arrow of ${table} of ${store}`;
  const words = ["export", "--to", "arrow", "--face", table, "--columns", names, store];
  const { code, out, err } = await run(varve, words);
  assert.strictEqual(code, wanted.code, `${where}: ${err}`);
  assert.strictEqual(err, wanted.err, where);
  if (out.length === 0) return assert.strictEqual(wanted.rows.length, 0, where);
  const { rows, batches, metadata } = arrowRows(out);
  assert.strictEqual(metadata.get("varve.source"), store);
  compareAll(rows, wanted.rows, where);
  totals.batches += batches;
}

let files = 0;
async function checkParquet(store, table, wanted, names) {
  const where = `parquet of ${table} of ${store}`;
  const file = path.join(scratch, `${files++}.parquet`);
  const words = ["export", "--to", "parquet", "--force", "--face", table, "--columns", names];
  words.push("--row-group", "2000");
  const { code, err } = await run(varve, [...words, "-o", file, store]);
  assert.strictEqual(code, wanted.code, `${where}: ${err}`);
  assert.strictEqual(err, wanted.err, where);
  if (!fs.existsSync(file)) return assert.strictEqual(wanted.rows.length, 0, where);  // refused
  const { rows, metadata, groups } = await parquetRows(fs.readFileSync(file));
  fs.unlinkSync(file);
  compareAll(rows, wanted.rows, where);
  assert.strictEqual(metadata.get("varve.source"), store);
  assert.strictEqual(metadata.get("varve.rows"), String(rows.length), where);
  assert.strictEqual(metadata.get("varve.verdict"), verdicts[code], where);
  if (rows.length !== 0 && rows[0].seq !== undefined && table === "log") {
    assert.strictEqual(metadata.get("varve.seq"), `${rows[0].seq}..${rows[rows.length - 1].seq}`);
  }
  // A row group begins where a block does.
  let begin = 0;
  for (const { num_rows } of groups) {
    if (rows[begin]["at.block"] !== undefined) assert.strictEqual(rows[begin]["at.row"], "0", where);
    begin += Number(num_rows);
  }
  assert(groups.length >= Math.floor(rows.length / 4000), `${where}: ${groups.length} row groups`);
  totals.groups += groups.length;
}

async function check(store) {
  for (const [table, verb] of [["log", "cat"], ["state", "state"]]) {
    const wanted = await lines(varve, verb, store);
    if (wanted === null) continue;
    totals.stores++;
    totals.rows += wanted.rows.length;
    const names = await columns(store, table);
    if (names === "") continue;
    await checkArrow(store, table, wanted, names);
    if (scratch !== "") await checkParquet(store, table, wanted, names);
  }
}

async function main() {
  const all = roots.flatMap((root) => candidates(path.resolve(root)));
  const stores = process.env.VARVE_TEST_FULL ? all : all.filter((_, i) => i % 12 === 0);
  const next = () => {
    const store = stores.pop();
    return store === undefined ? undefined : check(store).then(next);
  };
  await Promise.all(os.cpus().map(next));
  assert(totals.rows > 2000 && totals.batches > totals.stores / 2, JSON.stringify(totals));
  console.log(`exports equal cat and state: ${JSON.stringify(totals)}`);
}
main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
