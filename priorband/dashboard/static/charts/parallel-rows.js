// Which trials parallel coordinates choose, and how good each is on its own rung.

import { positionOn } from "./parallel-axes.js";

/**
 * The rank of each trial among those of its rung that pass the filter: 0 for the best, up to 1. Values
 * at different fidelities cannot be compared. -1 for a trial without a value.
 */
export function ranksWithinRungs(table, rows, maximize) {
  const values = table.data("value");
  const fidelity = table.data("fidelity");
  const ranks = new Float32Array(table.rows).fill(-1);
  const known = Array.from(rows).filter((row) => !Number.isNaN(values[row]));
  const sign = maximize ? -1 : 1;
  for (const own of Map.groupBy(known, (row) => fidelity[row]).values()) {
    own.sort((a, b) => sign * (values[a] - values[b]));
    own.forEach((row, place) => (ranks[row] = own.length > 1 ? place / (own.length - 1) : 0));
  }
  return ranks;
}

/** The rows that are within all brushes and among the best share of their rung. */
export function selectedRows(rows, ranks, share, axes, places, brushes) {
  const tests = axes.flatMap((axis, i) => {
    const range = brushes[axis.name];
    if (!range) return [];
    const [a, b] = range.map((value) => positionOn(axis, value));
    return [{ places: places[i], low: Math.min(a, b) - 1e-6, high: Math.max(a, b) + 1e-6 }];
  });
  if (tests.length === 0 && share >= 1) return rows;
  const found = new Uint32Array(rows.length);
  let count = 0;
  for (const row of rows) {
    if (share < 1 && (ranks[row] < 0 || ranks[row] > share)) continue;
    if (tests.every((test) => test.places[row] >= test.low && test.places[row] <= test.high)) found[count++] = row;
  }
  return found.subarray(0, count);
}
