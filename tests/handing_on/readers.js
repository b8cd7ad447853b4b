// SPDX-License-Identifier: MIT OR Apache-2.0
// Exports as readers that others wrote give them: rows as objects whose cells have dotted names.
"use strict";
const path = require("path");
const { pathToFileURL } = require("url");
const { RecordBatchReader, Type } = require("apache-arrow");

// The value of one row. Times are taken as the 64-bit numbers that they are stored as: the
// reader's own dates have only doubles.
function cellOf(vector, type, row) {
  if (!vector.isValid(row)) return null;
  if (type.typeId === Type.Timestamp) return String(vector.data[0].values[row]);
  const value = vector.get(row);
  return typeof value === "bigint" || typeof value === "number" ? String(value) : value;
}

function flatten(vector, field, prefix, row, cells) {
  const name = prefix + field.name;
  if (field.type.typeId === Type.Struct) {
    field.type.children.forEach((child, i) => flatten(vector.getChildAt(i), child, name + ".", row, cells));
  } else {
    cells[name] = cellOf(vector, field.type, row);
  }
}

function arrowRows(bytes) {
  const reader = RecordBatchReader.from(bytes).open();
  const metadata = reader.schema.metadata;
  const rows = [];
  let batches = 0;
  for (const batch of reader) {
    batches++;
    const vectors = batch.schema.fields.map((_, i) => batch.getChildAt(i));
    for (let row = 0; row < batch.numRows; row++) {
      const cells = {};
      batch.schema.fields.forEach((field, i) => flatten(vectors[i], field, "", row, cells));
      rows.push(cells);
    }
  }
  return { rows, batches, metadata };
}

// The packages of hyparquet are modules of the new kind, which do not look at NODE_PATH.
const fromPackages = (file) => import(pathToFileURL(path.join(process.env.NODE_PATH, file)).href);

function parquetCells(value, prefix, cells) {
  for (const [name, cell] of Object.entries(value)) {
    if (cell !== null && typeof cell === "object" && !(cell instanceof Uint8Array)) {
      parquetCells(cell, `${prefix}${name}.`, cells);
    } else {
      cells[prefix + name] = typeof cell === "bigint" || typeof cell === "number" ? String(cell) : cell;
    }
  }
  return cells;
}

async function parquetRows(bytes) {
  const { parquetReadObjects, parquetMetadata } = await fromPackages("hyparquet/src/index.js");
  const { compressors } = await fromPackages("hyparquet-compressors/src/index.js");
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const parsers = { timestampFromMicroseconds: (micros) => micros };
  const objects = await parquetReadObjects({ file, compressors, parsers, utf8: false });
  const description = parquetMetadata(file);
  const metadata = new Map(description.key_value_metadata.map(({ key, value }) => [key, value]));
  const rows = objects.map((value) => parquetCells(value, "", {}));
  return { rows, metadata, groups: description.row_groups };
}

module.exports = { arrowRows, parquetRows };
