// The axes of parallel coordinates: which there are, and where on them each trial is.

import { number, setting } from "../format.js";
import { extent, logTicks, ticks } from "./ranges.js";

const MOST_WORDS = 24; // more words than that have no names at the axis

/**
 * The axes: fidelity, the parameters, the metrics, the value. `switched` are the names of axes whose
 * logarithm was switched.
 */
export function axesOf(table, rows, problem, switched) {
  const columns = [
    table.columns.get("fidelity"),
    ...table.group("config"),
    ...table.group("metric"),
    table.columns.get("value"),
  ];
  return columns.map((column) => axisOf(column, rows, problem, switched.includes(column.name))).filter(Boolean);
}

function axisOf(column, rows, problem, switched) {
  const base = {
    name: column.name,
    label: column.name === "fidelity" ? problem.fidelity.name : column.label,
    words: column.words ?? null,
    text: (table, row) => setting(table.cell(column.name, row)),
  };
  if (column.words) return { ...base, log: false, canLog: false, range: [0, Math.max(column.words.length - 1, 0)], ticks: column.words.length <= MOST_WORDS ? column.words.map((_, i) => i) : [] };
  const own = extent(valuesOf(column, rows));
  if (own === null) return null;
  const range = Number.isFinite(column.low) && Number.isFinite(column.high) ? [column.low, column.high] : own;
  const canLog = range[0] > 0;
  const byDefault = Boolean(column.log) || column.name === "fidelity";
  const log = canLog && byDefault !== switched;
  const better = column.name === "value" && !problem.maximize; // the best value is at the top
  return { ...base, log, canLog, range, reversed: better, ticks: ticksOf(column, range, log, problem) };
}

function ticksOf(column, range, log, problem) {
  if (column.name === "fidelity") return problem.fidelity.rungs.filter((one) => one >= range[0] && one <= range[1]);
  return log ? logTicks(range, 6) : ticks(range, 6);
}

function* valuesOf(column, rows) {
  for (const row of rows) yield column.data[row];
}

/** The position of a value on an axis, from 0 at the bottom to 1 at the top. */
export function positionOn(axis, value) {
  const [low, high] = axis.range;
  if (low === high) return 0.5;
  const share = axis.log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return axis.reversed ? 1 - share : share;
}

/** The value at a position on an axis. */
export function valueAt(axis, position) {
  const [low, high] = axis.range;
  const share = axis.reversed ? 1 - position : position;
  return axis.log ? low * (high / low) ** share : low + share * (high - low);
}

/** The position of every trial on an axis; -1 where it has no value. */
export function placesOf(axis, table) {
  const { data } = table.columns.get(axis.name);
  const found = new Float32Array(data.length);
  for (let row = 0; row < data.length; row++) {
    const value = data[row];
    const missing = axis.words ? value < 0 : Number.isNaN(value);
    found[row] = missing ? -1 : Math.min(Math.max(positionOn(axis, value), 0), 1);
  }
  return found;
}

/** How a tick is written. */
export function tickText(axis, tick) {
  return axis.words ? axis.words[tick] : number(tick, 3);
}
