// Numbers with intervals, one a row: a name, the drawing on a common scale, the number.

import { html, useRef, useState } from "../preact.js";
import { ChartFrame } from "../chart-frame.js";
import { number } from "../format.js";
import { useWidth } from "./use-size.js";
import { ticks } from "./ranges.js";

const ROW = 26;
const HEAD = 6;
const FOOT = 22;

/**
 * Props, besides those of ChartFrame:
 *   items   [{ name, value, lower, upper, text, clear, mark, note }]; without a value, `note` is shown
 *   range   [low, high] of the scale
 *   bars    draw bars from zero instead of dots
 *   format  of the ticks
 */
export function IntervalRows({ items, range, bars = false, format = (value) => number(value, 2), ...frame }) {
  const box = useRef(null);
  const width = useWidth(box);
  const [at, setAt] = useState(null);
  const left = Math.min(Math.max(...items.map((one) => one.name.length), 6) * 7 + 12, width * 0.36, 200);
  const right = 104;
  const x = (value) => left + ((Math.min(Math.max(value, range[0]), range[1]) - range[0]) / (range[1] - range[0])) * (width - left - right);
  const height = HEAD + items.length * ROW + FOOT;
  return html`
    <${ChartFrame} ...${frame} count=${items.length} cursor=${setAt} describe=${(i) => items[i].text}>
      <div class="svg-box" ref=${box} aria-hidden="true">
        ${width > 0 && html`
          <svg width=${width} height=${height} role="presentation">
            ${ticks(range, width < 500 ? 3 : 5).map((tick) => html`
              <line class=${tick === 0 ? "grid-line zero" : "grid-line"} x1=${x(tick)} x2=${x(tick)} y1=${HEAD} y2=${height - FOOT + 2} />
              <text class="chart-text soft" x=${x(tick)} y=${height - 6} text-anchor="middle">${format(tick)}</text>`)}
            ${items.map((one, i) => html`<${Row} one=${one} y=${HEAD + i * ROW + ROW / 2} x=${x} width=${width} left=${left} right=${right} bars=${bars} zero=${x(0)}
                   at=${at === i} onMouseEnter=${() => setAt(i)} onMouseLeave=${() => setAt(null)} />`)}
          </svg>`}
        ${at !== null && items[at] && html`<p class="chart-note">${items[at].text}</p>`}
      </div>
    <//>`;
}

function Row({ one, y, x, width, left, right, bars, zero, at, ...events }) {
  const known = one.value !== null && one.value !== undefined;
  const most = Math.floor((left - 8) / 6.2);
  const name = one.name.length > most ? `${one.name.slice(0, most - 1)}…` : one.name;
  return html`
    <g class=${at ? "interval at" : "interval"} ...${events}>
      <rect class="interval-back" x="0" y=${y - ROW / 2} width=${width} height=${ROW} />
      <text class="chart-text" x="0" y=${y} dominant-baseline="middle">${name}<title>${one.name}</title></text>
      ${known && bars && html`<rect class=${one.clear ? "bar-clear" : "bar-unclear"} x=${zero} y=${y - 6} width=${Math.max(x(one.value) - zero, 1)} height="12" />`}
      ${known && one.lower !== null && html`
        <line class="whisker" x1=${x(one.lower)} x2=${x(one.upper)} y1=${y} y2=${y} />
        <line class="whisker" x1=${x(one.lower)} x2=${x(one.lower)} y1=${y - 4} y2=${y + 4} />
        <line class="whisker" x1=${x(one.upper)} x2=${x(one.upper)} y1=${y - 4} y2=${y + 4} />`}
      ${known && !bars && html`<circle class=${one.clear ? "dot-clear" : "dot-unclear"} cx=${x(one.value)} cy=${y} r="4.5" />`}
      ${known
        ? html`<text class="chart-text number-text" x=${width} y=${y} text-anchor="end" dominant-baseline="middle">${one.shown}</text>`
        : html`<text class="chart-text soft" x=${left} y=${y} dominant-baseline="middle">${one.note}</text>`}
    </g>`;
}
