// Rung flow by origin: how many trials started on each rung, and how many went on from there.

import { html, useMemo, useRef, useState } from "../preact.js";
import { ChartFrame } from "../chart-frame.js";
import { useStudy } from "../store.js";
import { originColorName } from "../theme.js";
import { number, percent, visible, whole } from "../format.js";
import { spreadApart } from "./ranges.js";
import { useWidth } from "./use-size.js";
import { unready, useFiltered } from "./use-filtered.js";

const PARTS = ["promoted", "finished", "open", "running", "stopped", "failed"];
const GAP = 3; // pixels between the origins of a rung
const BAR = 16; // width of a rung's bars
const BELOW = 50; // room for the names of the rungs

export function RungFlowChart({ height = 260 }) {
  const { problem } = useStudy();
  const found = useFiltered("rung-flow");
  const box = useRef(null);
  const width = useWidth(box);
  const [at, setAt] = useState(null);
  const name = visible(problem.fidelity.name);
  const flow = found.data;
  const cells = useMemo(() => (flow ? flowCells(flow) : []), [flow]);
  const drawn = useMemo(() => (flow && width ? layout(flow, cells, width, height - BELOW) : null), [flow, cells, width, height]);
  const totals = flow ? flow.started.map((row) => sum(row)) : [];
  const done = flow ? sum(flow.finished.at(-1) ?? []) : 0;
  const message = totals.length && sum(totals)
    ? `${whole(sum(totals))} trials; ${totals.map((count, r) => `${whole(count)} at ${number(flow.fidelities[r])}`).join(", ")}; ${whole(done)} in full.${flow.off_ladder ? ` ${whole(flow.off_ladder)} on no rung.` : ""}`
    : "";
  return html`
    <${ChartFrame} title=${`Rung flow, by origin`} summary=${`${message}${found.note}`}
        empty=${unready(found) ?? (cells.length ? null : "No trial has started yet.")}
        count=${cells.length} describe=${(i) => cellText(cells[i], name, flow)} cursor=${setAt}
        rows=${() => ({
          head: [name, "origin", "started", ...PARTS],
          rows: cells.map((one) => [flow.fidelities[one.rung], flow.origins[one.origin], one.started, ...PARTS.map((part) => one[part])]),
        })}>
      <div class="svg-box" ref=${box} aria-hidden="true">
        ${drawn && html`
          <svg width=${width} height=${height} role="presentation">
            ${drawn.bands.map((band) => html`<path class="flow-band" d=${band.path} data-own=${band.color}><title>${band.title}</title></path>`)}
            ${drawn.bars.map((bar) => html`
              <g class=${at === bar.cell ? "flow-cell at" : "flow-cell"} onMouseEnter=${() => setAt(bar.cell)} onMouseLeave=${() => setAt(null)}>
                ${bar.parts.map((part) => html`<rect class=${`flow-${part.kind}`} x=${bar.x} y=${part.y} width=${BAR} height=${part.height} data-own=${bar.color} />`)}
                <rect class="flow-outline" x=${bar.x - 1.5} y=${bar.y - 1.5} width=${BAR + 3} height=${bar.height + 3} />
                <title>${cellText(cells[bar.cell], name, flow)}</title>
              </g>`)}
            ${drawn.names.map((one) => html`<text class="chart-text" x=${one.x} y=${one.y} data-own=${one.color} dominant-baseline="middle">${one.text}</text>`)}
            ${drawn.rungs.map((one) => html`
              <text class="chart-text strong" x=${one.x} y=${height - 34} text-anchor=${one.anchor}>${`${width < 480 ? "" : `${name} `}${number(flow.fidelities[one.rung])}`}</text>
              <text class="chart-text soft" x=${one.x} y=${height - 20} text-anchor=${one.anchor}>${whole(totals[one.rung])}${width < 480 ? "" : " started"}</text>
              <text class="chart-text soft" x=${one.x} y=${height - 6} text-anchor=${one.anchor}>${one.rung < totals.length - 1 ? `${shareText(sum(flow.promoted[one.rung]), totals[one.rung])}${width < 480 ? " on" : " promoted"}` : `${whole(done)} done`}</text>`)}
          </svg>`}
        ${at !== null && cells[at] && html`<p class="chart-note">${cellText(cells[at], name, flow)}</p>`}
      </div>
      <ul class="key"><li><i class="key-promoted"></i>promoted or finished</li><li><i class="key-open"></i>open or running</li><li><i class="key-stopped"></i>stopped</li><li><i class="key-failed"></i>failed</li></ul>
    <//>`;
}

function sum(list) {
  return list.reduce((total, one) => total + one, 0);
}

function shareText(part, whole_) {
  return whole_ ? percent(part / whole_) : "–";
}

/** The rungs and origins with trials, by rung. */
function flowCells(flow) {
  const found = [];
  flow.started.forEach((row, rung) => row.forEach((started, origin) => {
    if (!started) return;
    found.push({ rung, origin, started, ...Object.fromEntries(PARTS.map((part) => [part, flow[part][rung][origin]])) });
  }));
  return found;
}

function cellText(cell, name, flow) {
  const parts = PARTS.filter((part) => cell[part]).map((part) => `${whole(cell[part])} ${part}`);
  return `${name} ${number(flow.fidelities[cell.rung])}, ${visible(flow.origins[cell.origin])}: ${whole(cell.started)} started, ${parts.join(", ")}`;
}

const KINDS = { promoted: "on", finished: "on", open: "open", running: "open", stopped: "stopped", failed: "failed" };

function layout(flow, cells, width, height) {
  const rungs = flow.fidelities.length;
  const left = 78;
  const step = rungs > 1 ? (width - left - BAR - 66) / (rungs - 1) : 0;
  const most = Math.max(...flow.started.map((row) => sum(row)), 1);
  const blocks = Math.max(...flow.started.map((row) => row.filter(Boolean).length));
  const scale = (height - 16 - GAP * (blocks - 1)) / most;
  const bars = [];
  const byPlace = new Map();
  const tops = new Array(rungs).fill(8);
  cells.forEach((cell, number_) => {
    const x = left + cell.rung * step;
    const tall = Math.max(cell.started * scale, 1);
    const y = tops[cell.rung];
    tops[cell.rung] += tall + GAP;
    let edge = y;
    const parts = PARTS.filter((part) => cell[part]).map((part) => {
      const own = { kind: KINDS[part], y: edge, height: cell[part] * scale };
      edge += own.height;
      return own;
    });
    const bar = { cell: number_, x, y, height: tall, parts, color: originColorName(flow.origins[cell.origin]) };
    bars.push(bar);
    byPlace.set(`${cell.rung} ${cell.origin}`, bar);
  });
  const bands = [];
  for (const cell of cells) {
    const from = byPlace.get(`${cell.rung} ${cell.origin}`);
    const to = byPlace.get(`${cell.rung + 1} ${cell.origin}`);
    if (!to || !cell.promoted) continue;
    const tall = cell.promoted * scale;
    const [x0, x1] = [from.x + BAR, to.x];
    const middle = (x0 + x1) / 2;
    bands.push({
      color: from.color,
      title: `${whole(cell.promoted)} promoted`,
      path: `M${x0} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${x1} ${to.y}L${x1} ${to.y + tall}C${middle} ${to.y + tall} ${middle} ${from.y + tall} ${x0} ${from.y + tall}Z`,
    });
  }
  const names = [...namesAt(bars, cells, flow, cells[0].rung, () => 0), ...laterNames(bars, cells, flow)];
  const labels = flow.fidelities.map((_, rung) => ({ rung, x: left + rung * step + BAR / 2, anchor: "middle" }));
  return { bars, bands, names, rungs: labels };
}

/** Names of origins beside their bars on a rung, moved apart. */
function namesAt(bars, cells, flow, rung, x, wanted = () => true) {
  const own = bars.filter((bar) => cells[bar.cell].rung === rung && wanted(cells[bar.cell].origin));
  const at = spreadApart(own.map((bar) => bar.y + bar.height / 2), 13, 8, 10_000);
  return own.map((bar, i) => ({ x: x(bar), y: at[i], text: visible(flow.origins[cells[bar.cell].origin]), color: bar.color }));
}

/** Names of origins that do not start on the first rung: at the right of their highest bars. */
function laterNames(bars, cells, flow) {
  const first = new Set(cells.filter((cell) => cell.rung === cells[0].rung).map((cell) => cell.origin));
  const highest = new Map();
  for (const cell of cells) if (!first.has(cell.origin)) highest.set(cell.origin, cell.rung);
  const rungs = [...new Set(highest.values())];
  return rungs.flatMap((rung) => namesAt(bars, cells, flow, rung, (bar) => bar.x + BAR + 5, (origin) => highest.get(origin) === rung));
}
