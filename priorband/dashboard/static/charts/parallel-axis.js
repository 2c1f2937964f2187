// One axis of parallel coordinates, with its brush. Pointer and keys do the same.

import { html, useRef } from "../preact.js";
import { announce } from "../announce.js";
import { cut, number, visible } from "../format.js";
import { positionOn, tickText, valueAt } from "./parallel-axes.js";
import { place } from "./plot.js";

export const TOP = 40; // room for the name of the axis
export const BOTTOM = 26; // room for trials without a value
const STEP = 0.05; // of the axis, for a key

/** `range` is the brush as values of the axis, low first on the axis; null if there is none. */
export function ParallelAxis({ axis, x, room, height, range, onDrag, onBrush, onLog }) {
  const from = useRef(null);
  const length = height - TOP - BOTTOM;
  const name = visible(axis.label);
  const ends = range && range.map((value) => positionOn(axis, value)).sort((a, b) => a - b);
  const positionOf = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.min(Math.max(1 - (event.clientY - box.top) / box.height, 0), 1);
  };
  const rangeOf = (a, b) => valuesBetween(axis, Math.min(a, b), Math.max(a, b));
  const onPointerDown = (event) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    from.current = positionOf(event);
  };
  const onPointerMove = (event) => {
    if (from.current === null) return;
    const to = positionOf(event);
    if (Math.abs(to - from.current) > 0.01) onDrag(rangeOf(from.current, to));
  };
  const onPointerUp = (event) => {
    if (from.current === null) return;
    const to = positionOf(event);
    const moved = Math.abs(to - from.current) > 0.01;
    onBrush(moved ? rangeOf(from.current, to) : null);
    from.current = null;
  };
  const brushBy = (low, high) => {
    const next = valuesBetween(axis, Math.max(0, low), Math.min(1, high));
    onBrush(next);
    announce(`${name} from ${tick(axis, next[0])} to ${tick(axis, next[1])}`);
  };
  const onKeyDown = (event) => {
    const up = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    const step = axis.words ? 1 / Math.max(axis.words.length - 1, 1) : STEP;
    if (up !== 0 && !ends) brushBy(up > 0 ? 0.75 : 0, up > 0 ? 1 : 0.25);
    else if (up !== 0 && event.shiftKey) brushBy(ends[0], Math.max(ends[0] + (axis.words ? 0 : 0.01), ends[1] + up * step));
    else if (up !== 0) {
      const by = Math.max(-ends[0], Math.min(1 - ends[1], up * step));
      brushBy(ends[0] + by, ends[1] + by);
    } else if (event.key === "Delete" || event.key === "Backspace" || event.key === "Escape") onBrush(null);
    else if (event.key === "l" && axis.canLog) onLog();
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") neighbour(event.currentTarget, event.key === "ArrowRight" ? 1 : -1)?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const state = range ? `brushed from ${tick(axis, range[0])} to ${tick(axis, range[1])}` : "not brushed";
  return html`
    <div class="axis" ref=${place(x, 0)}>
      <div class="axis-name" title=${name}><bdi>${cut(name, Math.max(6, Math.min(22, Math.floor(room / 7.2))))}</bdi>
        ${axis.canLog && html`<button class="axis-log" tabindex="-1" aria-label=${`log scale of ${name}`} aria-pressed=${axis.log} onClick=${onLog}>log</button>`}
      </div>
      <div class="axis-strip" role="slider" tabindex="0" aria-orientation="vertical" aria-label=${`Axis ${name}`} aria-valuetext=${state}
           aria-valuemin="0" aria-valuemax="100" aria-valuenow=${ends ? Math.round(100 * ends[1]) : 100}
           ref=${box(TOP, length)} onPointerDown=${onPointerDown} onPointerMove=${onPointerMove} onPointerUp=${onPointerUp} onKeyDown=${onKeyDown}>
        <i class="axis-line"></i>
        ${axis.ticks.map((one) => html`<span class="axis-tick" ref=${place(0, (1 - positionOn(axis, one)) * length)}>${cut(visible(tickText(axis, one)), 10)}</span>`)}
        ${ends && html`<i class="axis-brush" ref=${box((1 - ends[1]) * length - 3, (ends[1] - ends[0]) * length + 6)}></i>`}
      </div>
    </div>`;
}

function tick(axis, value) {
  return axis.words ? visible(axis.words[Math.round(value)] ?? "") : number(value, 3);
}

/** The values of a part of an axis. Of words, those within it, at least the nearest one. */
function valuesBetween(axis, low, high) {
  if (!axis.words) return [valueAt(axis, low), valueAt(axis, high)];
  const last = axis.words.length - 1;
  const [first, end] = [Math.ceil(low * last - 1e-6), Math.floor(high * last + 1e-6)];
  return first <= end ? [first, end] : [Math.round(((low + high) / 2) * last), Math.round(((low + high) / 2) * last)];
}

function neighbour(strip, step) {
  const all = [...strip.closest(".parallel").querySelectorAll(".axis-strip")];
  return all[all.indexOf(strip) + step];
}

function box(top, height) {
  return (element) => {
    if (element) Object.assign(element.style, { top: `${top}px`, height: `${height}px` });
  };
}
