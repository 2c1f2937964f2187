// Parallel coordinates: each trial is a line through its settings. Axes can be brushed with the
// pointer or the keyboard; what is chosen can be made the filter of all views.

import { html, useEffect, useMemo, useRef, useState } from "../preact.js";
import { announce } from "../announce.js";
import { ChartFrame } from "../chart-frame.js";
import { quotedName, quotedValue } from "../filter.js";
import { useStudy } from "../store.js";
import { useTheme } from "../theme.js";
import { number, visible, whole } from "../format.js";
import { Select } from "../charts/choice.js";
import { useWidth } from "../charts/use-size.js";
import { axesOf, placesOf } from "../charts/parallel-axes.js";
import { ranksWithinRungs, selectedRows } from "../charts/parallel-rows.js";
import { paintLines } from "../charts/parallel-lines.js";
import { ParallelAxis, TOP, BOTTOM } from "../charts/parallel-axis.js";

export const parallel = { id: "parallel", title: "Parallel", key: "p", component: Parallel };

const TOPS = ["100", "50", "20", "10", "5", "1"];
const NARROWEST = 64; // pixels between two axes

function Parallel() {
  const study = useStudy();
  const { table, rows, params, setParams, problem, openTrial } = study;
  const box = useRef(null);
  const width = useWidth(box);
  const height = Math.max(300, Math.min(560, globalThis.innerHeight - 300));
  const [at, setAt] = useState(null);
  const [drag, setDrag] = useState(null);
  const brushes = useMemo(() => parseBrushes(params.brush), [params.brush]);
  const shown = useMemo(() => (drag ? { ...brushes, [drag.name]: drag.range } : brushes), [brushes, drag]);
  const axes = useMemo(() => axesOf(table, rows, problem, (params.log ?? "").split(",").map(decodeURIComponent)), [table, rows, params.log]);
  const places = useMemo(() => axes.map((axis) => placesOf(axis, table)), [axes, table]);
  const ranks = useMemo(() => ranksWithinRungs(table, rows, problem.maximize), [table, rows]);
  const top = Number(params.top ?? "100") / 100;
  const chosen = useMemo(() => selectedRows(rows, ranks, top, axes, places, shown), [rows, ranks, top, axes, places, shown]);
  const sheet = Math.max(width, axes.length * NARROWEST + 40);
  const x = (i) => 34 + (axes.length > 1 ? (i * (sheet - 84)) / (axes.length - 1) : 0);

  const setBrush = (name, range) => {
    const next = { ...brushes, [name]: range };
    if (range === null) delete next[name];
    setParams({ brush: writtenBrushes(next) });
    setDrag(null);
  };
  const onLog = (name) => {
    const own = new Set((params.log ?? "").split(",").filter(Boolean));
    const written = encodeURIComponent(name);
    if (!own.delete(written)) own.add(written);
    setParams({ log: [...own].join(",") || null });
  };
  const toFilter = () => {
    const parts = axes.filter((axis) => shown[axis.name]).map((axis) => conditionOf(axis, shown[axis.name], table));
    const before = study.filter ? `(${study.filter}) and ` : "";
    setParams({ filter: `${before}${parts.join(" and ")}`, brush: null });
    announce("The brushes are now the filter of all views.");
  };
  const brushed = Object.keys(shown).length > 0;
  useEffect(() => {
    if (brushed || top < 1) announce(`${chosen.length} of ${rows.length} trials are chosen.`);
  }, [params.brush, params.top]);
  const keys = chosen.subarray(0, 5000);
  const describe = (i) => `trial ${keys[i]}: ${axes.map((axis) => `${axis.label} ${axis.text(table, keys[i])}`).join(", ")}`;
  return html`
    <div class="stack">
      <${ChartFrame} title="Parallel coordinates" count=${keys.length} describe=${describe} cursor=${setAt} open=${(i) => openTrial(keys[i])}
          summary=${`${chosen.length === rows.length ? `${whole(rows.length)} trials` : `${whole(chosen.length)} of ${whole(rows.length)} trials`}. Strong lines are the best of their rung. Drag along an axis to choose.`}
          empty=${rows.length ? null : "No trial passes the filter."}
          rows=${() => ({ head: ["trial", ...axes.map((axis) => axis.label)], rows: Array.from(chosen, (row) => [row, ...axes.map((axis) => table.cell(axis.name, row))]) })}
          tools=${html`
            <${Select} label="best of each rung" value=${params.top ?? "100"} onChange=${(value) => setParams({ top: value === "100" ? null : value })}
                       options=${TOPS.map((one) => [one, one === "100" ? "all" : `top ${one} %`])} />
            ${brushed && html`
              <button class="quiet" onClick=${toFilter}>Use as filter</button>
              <button class="quiet" onClick=${() => setParams({ brush: null })}>Clear brushes</button>`}`}>
        <div class="parallel" ref=${box}>
          ${width > 0 && html`
            <div class="parallel-sheet" ref=${size(sheet, height)}>
              <${Lines} width=${sheet} height=${height} x=${x} places=${places} rows=${rows} chosen=${chosen} ranks=${ranks} mark=${at === null ? null : keys[at]} />
              ${axes.map((axis, i) => html`
                <${ParallelAxis} key=${axis.name} axis=${axis} x=${x(i)} room=${axes.length > 1 ? x(1) - x(0) : 96} height=${height} range=${shown[axis.name] ?? null}
                    onDrag=${(range) => setDrag(range && { name: axis.name, range })} onBrush=${(range) => setBrush(axis.name, range)} onLog=${() => onLog(axis.name)} />`)}
            </div>`}
        </div>
      <//>
      <p class="soft hint">On a focused axis: arrows up and down brush and move the brush, with Shift they change its size, Delete clears it, <kbd>l</kbd> switches the logarithm.</p>
    </div>`;
}

function size(width, height) {
  return (element) => {
    if (element) Object.assign(element.style, { width: `${width}px`, height: `${height}px` });
  };
}

/** The lines on two canvases: those that are not chosen in the back. Drawn bit by bit. */
function Lines({ width, height, x, places, rows, chosen, ranks, mark }) {
  const back = useRef(null);
  const front = useRef(null);
  const top = useRef(null);
  const theme = useTheme();
  const xs = places.map((_, i) => x(i));
  const common = { width, height, xs, places, ranks, top: TOP, bottom: BOTTOM };
  const partly = chosen.length < rows.length;
  useEffect(() => paintLines(back.current, { ...common, rows: partly ? rows : rows.subarray(0, 0), faint: true }), [width, height, places, rows, partly, theme]);
  useEffect(() => paintLines(front.current, { ...common, rows: chosen, faint: false }), [width, height, places, chosen, ranks, theme]);
  useEffect(() => paintLines(top.current, { ...common, rows: mark === null ? rows.subarray(0, 0) : Uint32Array.of(mark), marked: true }), [width, height, places, mark, theme]);
  return html`<canvas ref=${back} aria-hidden="true"></canvas><canvas ref=${front} aria-hidden="true"></canvas><canvas ref=${top} aria-hidden="true"></canvas>`;
}

/** Brushes in the address: name:low:high, separated by commas; numbers are values of the axis. */
function parseBrushes(text) {
  const found = {};
  for (const part of (text ?? "").split(",").filter(Boolean)) {
    const [name, low, high] = part.split(":");
    const range = [Number(low), Number(high)];
    if (range.every(Number.isFinite)) found[decodeURIComponent(name)] = range;
  }
  return found;
}

function writtenBrushes(brushes) {
  const parts = Object.entries(brushes).map(([name, [low, high]]) => `${encodeURIComponent(name)}:${precise(low)}:${precise(high)}`);
  return parts.join(",") || null;
}

function precise(value) {
  return Number(value.toPrecision(5));
}

/** A brush as a condition of the filter. */
function conditionOf(axis, [low, high], table) {
  const name = quotedName(table, table.columns.get(axis.name));
  if (axis.words) {
    const words = axis.words.filter((_, i) => i >= low && i <= high);
    return `${name} in (${words.map(quotedValue).join(", ")})`;
  }
  return `${name} >= ${precise(low)} and ${name} <= ${precise(high)}`;
}
