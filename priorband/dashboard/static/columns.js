// Columns of numbers and words as the server packs them (priorband/dashboard/binary_columns.py),
// read as typed arrays without copying.

const ARRAYS = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u1: Uint8Array };

/** Read packed columns. Returns { about, columns }, a Map from name to column. */
export function readColumns(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const columns = new Map();
  for (const one of header.columns) {
    const data = new ARRAYS[one.type](buffer, 4 + length + one.offset, one.length);
    columns.set(one.name, { ...one, data });
  }
  return { about: header.about, columns };
}

/** The trials of a study: one row each, by id. Tables are never changed, only replaced. */
export class Table {
  constructor(columns, rows, version) {
    this.columns = columns;
    this.rows = rows;
    this.version = version;
  }

  static from(buffer) {
    const { about, columns } = readColumns(buffer);
    return new Table(columns, about.rows, about.version);
  }

  /** The typed array of a column. */
  data(name) {
    return this.columns.get(name).data;
  }

  has(name) {
    return this.columns.has(name);
  }

  /** Columns of a group: "trial", "config" or "metric". */
  group(name) {
    return [...this.columns.values()].filter((column) => column.group === name);
  }

  /** The word or number in a cell; null if it is missing. */
  cell(name, row) {
    return cellOf(this.columns.get(name), row);
  }

  /** This table with rows that are new or have changed. */
  merged(buffer) {
    const { about, columns } = readColumns(buffer);
    if (about.full) return new Table(columns, about.rows, about.version);
    const at = columns.get("trial").data;
    const made = new Map();
    for (const [name, column] of columns) {
      const old = this.columns.get(name);
      const data = new ARRAYS[column.type](about.rows);
      data.set(old.data.subarray(0, Math.min(this.rows, about.rows)));
      for (let i = 0; i < at.length; i++) data[at[i]] = column.data[i];
      made.set(name, { ...old, ...column, data, length: about.rows });
    }
    return new Table(made, about.rows, about.version);
  }
}

/** The word or number in a cell of a column; null if it is missing. */
export function cellOf(column, row) {
  const value = column.data[row];
  if (column.words) return value < 0 ? null : column.words[value];
  if (column.type === "f8" || column.type === "f4") return Number.isNaN(value) ? null : value;
  return value < 0 ? null : value;
}

/** All rows of a table, as a list of row numbers. */
export function allRows(table) {
  const rows = new Uint32Array(table.rows);
  for (let i = 0; i < rows.length; i++) rows[i] = i;
  return rows;
}
