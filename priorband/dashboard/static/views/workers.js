// The worker timeline: what each worker did when, start-up, lost attempts, idle time and the plan.

import { html, useEffect, useMemo, useRef, useState } from "../preact.js";
import { ChartFrame } from "../chart-frame.js";
import { useAnalysis, useStudy } from "../store.js";
import { useTheme } from "../theme.js";
import { cut, duration, percent, visible, whole } from "../format.js";
import { Toggle } from "../charts/choice.js";
import { HEAD, paintGantt, ROW, spanAt } from "../charts/gantt.js";
import { ticks } from "../charts/ranges.js";
import { useWidth } from "../charts/use-size.js";
import { unready, useColumns, usePasses } from "../charts/use-filtered.js";
import { useKeys } from "../keys.js";

export const workers = { id: "workers", title: "Workers", key: "w", component: Workers };

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
const MOST_KEYS = 20000;

function Workers() {
  const { params, setParams, openTrial } = useStudy();
  const found = useColumns("timeline");
  const { data } = found;
  const planned = params.plan !== "off";
  const plan = useAnalysis("plan").data;
  const box = useRef(null);
  const canvas = useRef(null);
  const width = useWidth(box);
  const theme = useTheme();
  const [at, setAt] = useState(null);
  const left = width < 500 ? 64 : 150;
  const count = data?.workers.length ?? 0;
  const rowOf = useMemo(() => Array.from({ length: count }, (_, i) => i), [count]);
  const shown = planned && plan?.known ? plan : null;
  const whole_ = useMemo(() => (data ? span(data, shown) : [0, 1]), [data, shown]);
  const view = viewOf(params, whole_);
  const passes = usePasses();
  const keys = useMemo(() => (data ? indices(data, passes) : []), [data, passes]);
  const planRows = shown ? Math.max(...shown.worker, -1) + 1 : 0;
  const height = HEAD + Math.max(count, planRows) * ROW + 4;
  const common = { width, height, left, spans: data, rowOf, view };
  useEffect(() => {
    if (data && width && canvas.current) paintGantt(canvas.current, { ...common, plan: shown, passes, marked: at });
  }, [data, width, height, view[0], view[1], shown, passes, at, theme]);
  const zoom = (factor) => setView(setParams, middle(view, factor), whole_);
  useKeys([
    { key: "+", label: "Zoom in", group: "Workers", run: () => zoom(0.5) },
    { key: "-", label: "Zoom out", group: "Workers", run: () => zoom(2) },
    { key: "0", label: "Show all the time", group: "Workers", run: () => setView(setParams, whole_, whole_) },
  ], [view[0], view[1]]);
  const describe = (i) => spanText(data, i);
  const pointer = (event) => {
    const area = canvas.current.getBoundingClientRect();
    return spanAt(common, event.clientX - area.left, event.clientY - area.top);
  };
  const drag = useDrag(canvas, left, width, view, (next) => setView(setParams, next, whole_));
  return html`
    <div class="stack">
      <${ChartFrame} title="Worker timeline" summary=${data ? message(data, shown) : ""} count=${keys.length} describe=${(i) => describe(keys[i])}
          cursor=${(i) => setAt(i === null ? null : keys[i])} open=${(i) => openTrial(data.trial[keys[i]])}
          empty=${unready(found) ?? (data.start.length ? null : "No attempt was recorded. Studies that are only asked and told in memory have no workers.")}
          tools=${html`
            ${plan?.known && html`<${Toggle} label="plan" on=${planned} onChange=${(on) => setParams({ plan: on ? null : "off" })} />`}
            <button class="quiet" aria-label="Zoom in" onClick=${() => zoom(0.5)}>+</button>
            <button class="quiet" aria-label="Zoom out" onClick=${() => zoom(2)}>−</button>
            ${(params.from || params.to) && html`<button class="quiet" onClick=${() => setView(setParams, whole_, whole_)}>All</button>`}`}
          rows=${() => ({
            head: ["worker", "trial", "attempt", "rung", "start", "seconds", "start-up", "end"],
            rows: keys.map((i) => [data.workers[data.worker[i]], data.trial[i], data.attempt[i], data.rung[i], data.start[i], data.end[i] - data.start[i], data.startup[i], data.endings[data.ending[i]]]),
          })}>
        <div class="gantt" ref=${box} aria-hidden="true">
          ${width > 0 && data && html`
            <div class="gantt-sheet" ref=${tall(height)}>
              ${timeTicks(view, width - left).map((tick) => html`<i class="gantt-grid" ref=${atLeft(left + ((tick - view[0]) / (view[1] - view[0])) * (width - left))}></i>`)}
              <canvas ref=${canvas} onMouseMove=${(event) => setAt(pointer(event))} onMouseLeave=${() => setAt(null)}
                      onClick=${(event) => { const i = pointer(event); if (i !== null && !drag.moved()) openTrial(data.trial[i]); }} ...${drag.events}></canvas>
              ${data.workers.map((name, i) => html`<span class="gantt-name" title=${visible(name)} ref=${atTop(HEAD + i * ROW, left - 8)}><bdi>${cut(visible(name), width < 500 ? 8 : 22)}</bdi></span>`)}
            </div>
            <div class="gantt-axis">${timeTicks(view, width - left).map((tick) => html`<span ref=${atLeft(left + ((tick - view[0]) / (view[1] - view[0])) * (width - left))}>${duration(tick)}</span>`)}</div>
            ${at !== null && html`<p class="chart-note">${describe(at)}</p>`}`}
        </div>
        <ul class="key"><li><i class="key-bar"></i>succeeded, stronger on higher rungs</li><li><i class="key-failed-bar"></i>failed</li><li><i class="key-lost"></i>lost or returned</li><li><i class="key-startup"></i>start-up</li>${shown && html`<li><i class="key-plan"></i>plan</li>`}</ul>
      <//>
      ${data && data.start.length > 0 && html`<${Totals} data=${data} />`}
    </div>`;
}

function Totals({ data }) {
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label="Workers">
      <table class="list plain">
        <thead><tr><th scope="col">Worker</th><th scope="col">Host</th><th scope="col" class="number">Attempts</th><th scope="col" class="number">Lost</th>
          <th scope="col" class="number">Busy</th><th scope="col" class="number">Idle</th><th scope="col" class="number">Idle share</th><th scope="col" class="number">Start-up</th></tr></thead>
        <tbody>${data.workers.slice(0, 200).map((name, i) => html`
          <tr><th scope="row"><bdi>${cut(visible(name), 40)}</bdi></th><td class="soft"><bdi>${cut(visible(data.hosts[i] ?? ""), 40)}</bdi></td>
            <td class="number">${whole(data.trials[i])}</td><td class=${`number ${data.lost[i] ? "bad" : ""}`}>${data.lost[i] || "–"}</td>
            <td class="number">${duration(data.busy[i])}</td><td class="number">${duration(data.idle[i])}</td>
            <td class="number">${share(data.idle[i], data.busy[i])}</td><td class="number">${duration(data.startup_seconds[i])}</td></tr>`)}</tbody>
      </table>
    </div>`;
}

function share(idle, busy) {
  return idle + busy > 0 ? percent(idle / (idle + busy)) : "–";
}

function message(data, plan) {
  const busy = sum(data.busy);
  const idle = sum(data.idle);
  const lost = sum(data.lost);
  return `${data.workers.length} ${data.workers.length === 1 ? "worker" : "workers"}, ${whole(data.start.length)} attempts, idle ${share(idle, busy)} of the time${lost ? `, ${whole(lost)} lost` : ""}.${plan ? ` Behind: the plan, if a unit of fidelity takes ${duration(plan.seconds_per_unit)}.` : ""}`;
}

function sum(list) {
  return list.reduce((total, one) => total + one, 0);
}

function span(data, plan) {
  let [low, high] = [Infinity, 0];
  for (let i = 0; i < data.start.length; i++) {
    low = Math.min(low, data.start[i]);
    high = Math.max(high, data.end[i]);
  }
  for (const end of plan?.end ?? []) high = Math.max(high, end);
  return high > low ? [low, low + (high - low) * 1.01] : [0, 1];
}

function indices(data, passes) {
  const found = [];
  for (let i = 0; i < data.start.length && found.length < MOST_KEYS; i++) if (passes === null || passes[data.trial[i]]) found.push(i);
  return found;
}

function spanText(data, i) {
  const startup = data.startup[i] > 0 ? `, ${duration(data.startup[i])} of it start-up` : "";
  const attempt = data.attempt[i] > 1 ? `, attempt ${data.attempt[i]}` : "";
  return `trial ${data.trial[i]}${attempt}, rung ${data.rung[i]}: ${data.endings[data.ending[i]]}, ${duration(data.end[i] - data.start[i])}${startup}, from ${duration(data.start[i])} on, by ${visible(data.workers[data.worker[i]])}`;
}

function viewOf(params, all) {
  const [from, to] = [Number(params.from ?? NaN), Number(params.to ?? NaN)];
  return [Number.isFinite(from) ? from : all[0], Number.isFinite(to) && to > from ? to : all[1]];
}

function setView(setParams, [from, to], all) {
  const [low, high] = [Math.max(from, all[0]), Math.min(to, all[1])];
  const full = high - low >= (all[1] - all[0]) * 0.999;
  setParams({ from: full ? null : low.toPrecision(6), to: full ? null : high.toPrecision(6) });
}

function middle([from, to], factor) {
  const half = ((to - from) / 2) * factor;
  return [(from + to) / 2 - half, (from + to) / 2 + half];
}

/** Dragging over the bars chooses the time that is shown. */
function useDrag(canvas, left, width, view, onView) {
  const state = useRef({ from: null, moved: false });
  const second = (event) => {
    const px = event.clientX - canvas.current.getBoundingClientRect().left;
    return view[0] + ((px - left) / (width - left)) * (view[1] - view[0]);
  };
  const least = ((view[1] - view[0]) / Math.max(width - left, 1)) * 8;
  return {
    moved: () => state.current.moved,
    events: {
      onPointerDown: (event) => (state.current = { from: second(event), moved: false }),
      onPointerUp: (event) => {
        const { from } = state.current;
        const to = second(event);
        state.current = { from: null, moved: from !== null && Math.abs(to - from) > least };
        if (state.current.moved) onView([Math.min(from, to), Math.max(from, to)]);
      },
    },
  };
}

function timeTicks([from, to], width) {
  const rough = ((to - from) / Math.max(width, 1)) * 90;
  const step = STEPS.find((one) => one >= rough);
  if (!step || rough < 1) return ticks([from, to], Math.max(2, width / 110));
  const found = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) found.push(tick);
  return found;
}

function tall(height) {
  return (element) => element && (element.style.height = `${height}px`);
}

function atLeft(left) {
  return (element) => element && (element.style.left = `${left}px`);
}

function atTop(top, width) {
  return (element) => element && Object.assign(element.style, { top: `${top}px`, width: `${width}px` });
}
