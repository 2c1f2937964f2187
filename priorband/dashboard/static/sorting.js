// Sorting of trials. Failed trials, and those without a value in the column, come last either way.

/** What an option such as "-value" means; the best value first if there is none. */
export function sortOf(text, maximize) {
  if (!text) return { column: "value", down: maximize };
  return text.startsWith("-") ? { column: text.slice(1), down: true } : { column: text, down: false };
}

/** Rows in the order of a column. Equal ones keep the order of their ids. */
export function sortedRows(table, rows, sort, maximize) {
  const column = table.columns.get(sort.column) ?? table.columns.get("value");
  const down = table.columns.has(sort.column) ? sort.down : maximize;
  const keys = sortKeys(column);
  const status = table.columns.get("status");
  const failed = status.words.indexOf("failed");
  const last = new Uint8Array(table.rows);
  const byId = column.name === "trial";
  for (const row of rows) {
    last[row] = Number.isNaN(keys[row]) ? 2 : 0;
    if (status.data[row] === failed && !byId && column.name !== "status") last[row] = 3;
  }
  const sign = down ? -1 : 1;
  return Uint32Array.from(rows).sort(
    (a, b) => last[a] - last[b] || (last[a] < 2 ? sign * (keys[a] - keys[b]) : 0) || a - b,
  );
}

/** A number for each row; NaN where there is nothing. Words are ranked in alphabetical order. */
function sortKeys(column) {
  const keys = new Float64Array(column.data.length);
  if (column.words) {
    const ranked = column.words.map((word, index) => [word, index]).sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true }));
    const ranks = new Float64Array(column.words.length);
    ranked.forEach(([, index], rank) => (ranks[index] = rank));
    for (let i = 0; i < keys.length; i++) keys[i] = column.data[i] < 0 ? NaN : ranks[column.data[i]];
    return keys;
  }
  const isReal = column.type[0] === "f";
  for (let i = 0; i < keys.length; i++) keys[i] = !isReal && column.data[i] < 0 ? NaN : column.data[i];
  return keys;
}
