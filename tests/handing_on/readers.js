// SPDX-License-Identifier: MIT OR Apache-2.0
// Exports as readers that others wrote give them: rows as objects whose cells have dotted names.
"use strict";
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

module.exports = { arrowRows };
